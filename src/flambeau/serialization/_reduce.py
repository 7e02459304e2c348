"""Pickling of tensors and storages, in a form that PyTorch can unpickle.

A tensor becomes a call of a function in ``_rebuild.py``, whose first argument is the storage; a storage becomes a file
in the format before PyTorch 1.6. With the alias, these functions have PyTorch's names, so PyTorch can read the pickle.
"""

import copyreg
from collections import OrderedDict

from .._device import META, strided
from .._pickle import state_of
from .._storage import DeviceStorage, Storage, WatchedStorage
from .._tensor import Tensor, storage_of
from ..functions._attach import methods
from ..overrides import DisableTorchFunctionSubclass
from . import _rebuild
from ._legacy import storage_file


def reduce_tensor(t, refer):
    """The function that recreates a tensor, and its arguments.

    ``refer(storage, dtype)`` returns the reference to a storage, and the dtype it is recorded with.
    """
    with DisableTorchFunctionSubclass():
        rebuild, arguments = _reduce_plain(t, refer)
    cls, state = type(t), state_of(t)
    if state or cls is not Tensor:
        return _rebuild._rebuild_from_type_v2, (rebuild, cls, arguments, state)
    return rebuild, arguments


def _reduce_plain(t, refer):
    """Like ``reduce_tensor``, without subclass and attributes."""
    if t.layout is not strided:
        return _rebuild._rebuild_sparse_tensor, (t.layout, (t._indices(), t._values(), t.shape, t.is_coalesced()))
    shape, stride, requires_grad = tuple(t.shape), t.stride(), t.requires_grad
    if t.device is META:
        return _rebuild._rebuild_meta_tensor_no_storage, (t.dtype, shape, stride, requires_grad)
    reference, dtype = refer(storage_of(t), t.dtype)
    arguments = reference, t.storage_offset(), shape, stride, requires_grad, OrderedDict()  # no hooks
    if dtype is t.dtype:
        return _rebuild._rebuild_tensor_v2, arguments
    return _rebuild._rebuild_tensor_v3, (*arguments, t.dtype)


def reduce_storage(storage):
    """A storage, as a file."""
    raw = storage.host_bytes("pickling")
    return _rebuild._load_from_bytes, (storage_file(raw, _rebuild.storage_dtype(storage)),)


def _reduce_ex(self, protocol):
    """Implements pickling of a tensor: its view of the storage, requires_grad, and attributes."""
    return reduce_tensor(self, lambda storage, dtype: (storage, _rebuild.storage_dtype(storage)))


methods(__reduce_ex__=_reduce_ex)
for _class in (Storage, WatchedStorage, DeviceStorage):
    copyreg.pickle(_class, reduce_storage)
