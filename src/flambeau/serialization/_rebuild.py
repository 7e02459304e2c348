"""The functions and classes behind PyTorch's names in checkpoints, which recreate tensors.

Plain pickles refer to these functions too, so their signatures match PyTorch's.
"""

import collections
import io

from .. import _dtypes
from .._device import META, sparse_coo, strided
from .._device import device as Device
from .._pickle import rebuild_tensor, set_state
from .._size import Size
from .._storage import Storage
from .._tensor import Tensor, share, wrap
from ..functions._untyped_storage import untyped_of
from ..functions.creation import empty_strided
from ..functions.sparse import sparse_coo_tensor
from ..functions.storage import STORAGES, TypedStorage, UntypedStorage
from ..nn.parameter import (
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
)

_HAVE_STORAGES = {storage.dtype for storage in STORAGES.values()}
BEYOND = (
    "setStorage: a tensor of sizes {size}, strides {stride}, offset {offset} is out of bounds for storage of {count} "
    "elements"
)


class DestinedStorage(Storage):
    """Elements from a file to be moved to a device, preserving the sharing between tensors."""

    __slots__ = ("destination", "whole")

    def __init__(self, array, destination):
        super().__init__(array)
        self.destination = destination
        self.whole = None  # a tensor of all elements, on the device

    def move(self, t):
        """The tensor, as a view of this storage on the device."""
        if t._a.dtype != self.array.dtype:
            return t.to(self.destination)  # a dtype without a storage class
        shape, strides, offset = t._a.shape, t.stride(), t.storage_offset()
        is_whole = not offset and t.is_contiguous() and t._a.size == self.array.size
        if self.whole is None:
            self.whole = (t if is_whole else wrap(self.array)).to(self.destination)
            if is_whole:
                return self.whole
        part = self.whole if shape == self.whole.shape and is_whole else self.whole.as_strided(shape, strides, offset)
        return share(Tensor.__new__(Tensor), part)


def has_storages(dtype):
    """Whether `dtype` has a typed storage class; others are stored as bytes."""
    return dtype in _HAVE_STORAGES


def storage_dtype(storage):
    """The dtype a storage is pickled with."""
    array = storage.array
    dtype = _dtypes.from_np(array.dtype)
    return dtype if has_storages(dtype) else _dtypes.uint8


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return empty_strided(size, stride, dtype=dtype, device=META, requires_grad=requires_grad)


def _rebuild_tensor_v2(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    """A tensor on a typed storage."""
    dtype = storage_dtype(storage) if isinstance(storage, Storage) else storage.dtype
    return _tensor(storage, dtype, offset, size, stride, requires_grad, metadata)


def _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    """A tensor of a dtype without a typed storage class, on an untyped storage."""
    return _tensor(storage, dtype, offset, size, stride, requires_grad, metadata)


def _tensor(storage, dtype, offset, size, stride, requires_grad, metadata):
    if isinstance(storage, Storage):  # copy.copy() passes objects without pickling
        storage = TypedStorage(wrap_storage=untyped_of(storage), dtype=dtype)
    if not isinstance(storage, TypedStorage) or not all(isinstance(n, int) for n in (offset, *size, *stride)):
        raise TypeError("a tensor is made of a storage, an offset, sizes and strides")
    if storage.device is META:
        return _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad)
    count = storage.nbytes() // dtype.itemsize
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if min((offset, *size, *stride)) < 0 or (0 not in size and last >= count):
        raise RuntimeError(BEYOND.format(size=list(size), stride=list(stride), offset=offset, count=count))
    t = rebuild_tensor(Tensor, storage._storage, dtype, offset, tuple(size), tuple(stride), False)
    if isinstance(storage._storage, DestinedStorage):
        t = storage._storage.move(t)
    t = _resolve(t, metadata or {})
    if requires_grad:
        t.requires_grad = True
    return t


def _resolve(t, metadata):
    """Applies a pending conjugation or negation, which PyTorch's lazy tensors may save."""
    if metadata.get("conj"):
        t = t.conj()
    return t.neg() if metadata.get("neg") else t


def _rebuild_sparse_tensor(layout, parts):
    """A sparse tensor from its indices and values; raises if these do not match."""
    if layout is not sparse_coo or not all(isinstance(part, Tensor) for part in parts[:2]):
        raise TypeError("a sparse tensor is made of the layout sparse_coo, and of two tensors")
    indices, values, size, *coalesced = parts
    return sparse_coo_tensor(indices, values, size, is_coalesced=bool(coalesced and coalesced[0]))


def _rebuild_from_type_v2(rebuild, cls, arguments, state):
    """A tensor of a subclass, with attributes."""
    if rebuild not in BARE or not issubclass(cls, Tensor):
        raise TypeError(f"{cls!r} made by {rebuild!r} is no tensor")
    out = rebuild(*arguments)
    if type(out) is not cls:
        out = out.as_subclass(cls)
    if cls.__setstate__ is not Tensor.__setstate__:
        out.__setstate__(state)
    else:
        set_state(out, state)
    return out


def _get_layout(name):
    for known in (strided, sparse_coo):
        if name == str(known):
            return known
    raise ValueError(f"the layout {name} is not known here")


def _load_from_bytes(b):
    """The storage in a plain pickle, stored as a file."""
    from ._load import load

    return load(io.BytesIO(b), weights_only=False)


def encode(text, encoding):
    """Encodes the text that pickles before protocol 3 use for bytes."""
    return text.encode(_latin1(encoding))


def byte_array(*arguments):
    """A bytearray of bytes or text; rejects numbers, which would allocate any size."""
    if arguments and not isinstance(arguments[0], str | bytes):
        raise TypeError("a bytearray is made of bytes")
    return bytearray(arguments[0], _latin1(arguments[1])) if len(arguments) == 2 else bytearray(*arguments)


def no_bytes():
    return b""


def _latin1(encoding):
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes are encoded in latin1, not in {encoding!r}")
    return encoding


_rebuild_tensor = _rebuild_tensor_v2  # in very old files
BARE = frozenset((_rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_meta_tensor_no_storage, _rebuild_sparse_tensor))

# Called with arguments from the file.
MAKERS = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta_tensor_no_storage,
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
    "torch.serialization._get_layout": _get_layout,
    "torch.Size": Size,
    "torch.device": Device,
}
# Like MAKERS, but the result is a copy of the arguments.
CONTAINERS = {
    "collections.OrderedDict": collections.OrderedDict,
    "collections.Counter": collections.Counter,
    "builtins.set": set,
    "builtins.frozenset": frozenset,
    "builtins.complex": complex,
    "builtins.bytes": no_bytes,
    "builtins.bytearray": byte_array,
    "_codecs.encode": encode,
}
# May be referenced, but not called.
NAMES = {
    "torch.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.storage.TypedStorage": TypedStorage,
    **{f"torch.{d.name}": d for d in _dtypes.ALL},
    **{f"torch.{name}": storage for name, storage in STORAGES.items()},
}
# Loaded on demand by unrestricted loads, or if allowed.
LAZY = {
    "torch.nn.parameter.UninitializedParameter": UninitializedParameter,
    "torch.nn.parameter.UninitializedBuffer": UninitializedBuffer,
}
