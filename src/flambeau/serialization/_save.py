"""``save``: pickles objects with PyTorch's names for tensors, and writes the archive."""

from __future__ import annotations

import collections
import io
import os
import pickle
import sys
import warnings

import numpy as np

from .. import _dtypes
from .._device import META, strided
from .._device import device as Device
from .._device import layout as Layout
from .._pickle import state_of
from .._size import Size
from .._storage import address
from .._tensor import Tensor, storage_of
from ..engines import NUMPY
from ..functions.storage import STORAGES, TypedStorage, UntypedStorage
from ..nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from ..overrides import DisableTorchFunctionSubclass
from ._archive import Writer
from ._files import write_file
from ._skip import is_skipping

NOT_A_FILE = "expected 'f' to be string, path, or a file-like object with a 'write' attribute, got {type}"
TWO_DTYPES = (
    "Cannot save multiple tensors or storages that view the same data as different types: {one} and {other}. Save one "
    "of them and make the other by view() after loading, or save a clone()."
)
ZIP_ALL_THE_SAME = (
    "save(): _use_new_zipfile_serialization=False is ignored: the zip format is written, which PyTorch reads since 1.6."
)
NOT_IN_PYTHON = (
    "save(): the Pickler of pickle_module {name} is not derived from Python's own pickle._Pickler, so PyTorch's names "
    "cannot be written with it; use pickle or dill"
)


class _Global:
    """A name that is pickled as a reference into PyTorch's modules."""

    def __init__(self, module, name):
        self.reference = f"{module}\n{name}\n".encode()

    def __call__(self):
        raise TypeError("a reference to PyTorch cannot be called here")


_TENSOR = _Global("torch._utils", "_rebuild_tensor_v2")
_TENSOR_OF_DTYPE = _Global("torch._utils", "_rebuild_tensor_v3")
_META_TENSOR = _Global("torch._utils", "_rebuild_meta_tensor_no_storage")
_SPARSE = _Global("torch._utils", "_rebuild_sparse_tensor")
_OF_TYPE = _Global("torch._tensor", "_rebuild_from_type_v2")
_PARAMETER = _Global("torch._utils", "_rebuild_parameter")
_PARAMETER_WITH_STATE = _Global("torch._utils", "_rebuild_parameter_with_state")
_SIZE, _DEVICE = _Global("torch", "Size"), _Global("torch", "device")
_LAYOUT = _Global("torch.serialization", "_get_layout")
_UNTYPED = _Global("torch.storage", "UntypedStorage")
_STORAGES = {storage.dtype: _Global("torch", name) for name, storage in STORAGES.items()}
_CONSTANTS: dict[object, _Global] = {
    Tensor: _Global("torch", "Tensor"),
    Parameter: _Global("torch.nn.parameter", "Parameter"),
    UninitializedParameter: _Global("torch.nn.parameter", "UninitializedParameter"),
    UninitializedBuffer: _Global("torch.nn.parameter", "UninitializedBuffer"),
    **{d: _Global("torch", d.name) for d in _dtypes.ALL},
}


class _StorageRef:
    """Stands for a storage in the pickle."""

    def __init__(self, *record):
        self.record = record


class _Saving:
    """What a pickler needs to write PyTorch's references; it collects the storages."""

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = {}  # memory -> (key, dtype in the file, bytes)

    def save(self, obj, save_persistent_id=True):
        if not isinstance(obj, _Global):
            obj = _CONSTANTS.get(obj, obj) if isinstance(obj, type | _dtypes.dtype) else obj
        if not isinstance(obj, _Global):
            super().save(obj, save_persistent_id)
        elif id(obj) in self.memo:
            self.write(self.get(self.memo[id(obj)][0]))
        else:
            self.write(pickle.GLOBAL + obj.reference)
            self.memoize(obj)

    def persistent_id(self, obj):
        if isinstance(obj, TypedStorage):
            obj = self.refer(obj._storage, obj.dtype)
        elif isinstance(obj, UntypedStorage):
            obj = self.refer(obj._storage, None)
        return obj.record if isinstance(obj, _StorageRef) else None

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            return self.reduce_tensor(obj)
        if isinstance(obj, Size):
            return _SIZE, (tuple(obj),)
        if isinstance(obj, Device):
            return _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, Layout):
            return _LAYOUT, (str(obj),)
        return NotImplemented

    def reduce_tensor(self, t):
        cls = type(t)
        if isinstance(t, Parameter) and cls.__reduce_ex__ is Parameter.__reduce_ex__:
            # PyTorch, too, makes a plain Parameter of one of a subclass.
            state, hooks = state_of(t), collections.OrderedDict()
            if state:
                return _PARAMETER_WITH_STATE, (t.data, t.requires_grad, hooks, state)
            return _PARAMETER, (t.data, t.requires_grad, hooks)
        if cls.__reduce_ex__ is not Tensor.__reduce_ex__:
            return NotImplemented
        with DisableTorchFunctionSubclass():
            rebuild, arguments = self.parts_of(t)
        state = state_of(t)
        return (_OF_TYPE, (rebuild, cls, arguments, state)) if state or cls is not Tensor else (rebuild, arguments)

    def parts_of(self, t):
        """The function that makes a tensor, without its class and attributes, and the arguments."""
        if t.layout is not strided:
            return _SPARSE, (t.layout, (t._indices(), t._values(), t.shape, t.is_coalesced()))
        shape, stride, requires_grad = tuple(t.shape), t.stride(), t.requires_grad
        if t.device is META:
            return _META_TENSOR, (t.dtype, shape, stride, requires_grad)
        dtype = t.dtype if t.dtype in _STORAGES else None
        place = self.refer(storage_of(t), dtype), t.storage_offset(), shape, stride
        common = *place, requires_grad, collections.OrderedDict()
        return (_TENSOR_OF_DTYPE, (*common, t.dtype)) if dtype is None else (_TENSOR, common)

    def refer(self, storage, dtype):
        """The reference to a storage of a dtype, or (None) of bytes."""
        raw = NUMPY.bytes_of(storage.array)
        # Empty storages have no memory to be told apart by.
        memory = (address(raw), raw.size) if raw.size else id(storage)
        key, known, _ = self.storages.setdefault(memory, (str(len(self.storages)), dtype, raw))
        if known is not dtype and raw.size:
            raise RuntimeError(TWO_DTYPES.format(one=known or "bytes", other=dtype or "bytes"))
        if dtype is None:
            return _StorageRef("storage", _UNTYPED, key, "cpu", raw.size)
        return _StorageRef("storage", _STORAGES[dtype], key, "cpu", raw.size // dtype.itemsize)


class _Pickler(_Saving, pickle._Pickler):
    """The pickler of ``save``."""


def save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True,
         _disable_byteorder_record=False):
    """Writes an object to a file (a path, or something with ``write``). PyTorch can load it.

    A regular file at a path is replaced at once, when the new one is complete; it keeps its mode. Links are followed,
    and pipes and devices are written to.
    """
    if not _use_new_zipfile_serialization:
        warnings.warn(ZIP_ALL_THE_SAME, stacklevel=2)
    is_path = isinstance(f, str | os.PathLike)
    if not is_path and not hasattr(f, "write"):
        raise AttributeError(NOT_A_FILE.format(type=type(f).__name__))
    pickled = io.BytesIO()
    pickler = _pickler_class(pickle_module)(pickled, pickle_protocol)
    pickler.dump(obj)

    def write(file):
        archive = Writer(file, _root_name(f) if is_path else "archive")
        archive.add("data.pkl", pickled.getvalue())
        if not _disable_byteorder_record:
            archive.add("byteorder", sys.byteorder.encode())
        for key, _, raw in pickler.storages.values():
            archive.add(f"data/{key}", np.zeros_like(raw) if is_skipping() else raw)
        archive.add("version", b"3\n")
        archive.close()

    if is_path:
        write_file(f, write)
    else:
        write(f)


def _pickler_class(module):
    if module is pickle:
        return _Pickler
    if not issubclass(module.Pickler, pickle._Pickler):
        raise RuntimeError(NOT_IN_PYTHON.format(name=module.__name__))
    return type("_Pickler", (_Saving, module.Pickler), {})


def _root_name(path):
    """The folder of an archive, which PyTorch names after the file where it can."""
    stem, _ = os.path.splitext(os.path.basename(os.fsdecode(path)))
    return stem if stem and stem.isascii() else "archive"
