"""``save``: pickles objects with PyTorch's names and writes the archive."""

from __future__ import annotations

import io
import os
import pickle
import sys
from types import FunctionType

import numpy as np

from .. import _dtypes
from .._device import layout as Layout
from .._tensor import Tensor
from ..functions.storage import STORAGES, TypedStorage, UntypedStorage
from ..nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from ._archive import Writer
from ._files import write_file
from ._legacy import write_legacy
from ._rebuild import MAKERS, _get_layout, has_storages
from ._reduce import reduce_tensor
from ._skip import is_skipping

NOT_A_FILE = "expected 'f' to be string, path, or a file-like object with a 'write' attribute, got {type}"
TWO_DTYPES = (
    "Cannot save multiple tensors or storages that view the same data as different types: {one} and {other}. Save one "
    "of them and make the other by view() after loading, or save a clone()."
)
NOT_IN_PYTHON = (
    "save(): the Pickler of pickle_module {name} is not derived from Python's own pickle._Pickler, so PyTorch's names "
    "cannot be written with it; use pickle or dill"
)


class _Global:
    """A name that is pickled as a global of PyTorch's modules."""

    def __init__(self, module, name):
        self.reference = f"{module}\n{name}\n".encode()

    def __call__(self):
        raise TypeError("a reference to PyTorch cannot be called here")


_UNTYPED = _Global("torch.storage", "UntypedStorage")
_STORAGES = {storage.dtype: _Global("torch", name) for name, storage in STORAGES.items()}
_CONSTANTS: dict[object, _Global] = {
    Tensor: _Global("torch", "Tensor"),
    Parameter: _Global("torch.nn.parameter", "Parameter"),
    UninitializedParameter: _Global("torch.nn.parameter", "UninitializedParameter"),
    UninitializedBuffer: _Global("torch.nn.parameter", "UninitializedBuffer"),
    **{d: _Global("torch", d.name) for d in _dtypes.ALL},
    **{function: _Global(*name.rsplit(".", 1)) for name, function in MAKERS.items()},
}


class _StorageRef:
    """Represents a storage in the pickle."""

    def __init__(self, *record):
        self.record = record


class _Saving:
    """Writes PyTorch's references and collects the storages."""

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = {}  # memory identity -> (key, dtype in the file, bytes, storage, which keeps the identity)
        self.views = ()  # appended to legacy storage records: None, as the storage is not a view

    def save(self, obj, save_persistent_id=True):
        if not isinstance(obj, _Global):
            obj = _CONSTANTS.get(obj, obj) if isinstance(obj, type | FunctionType | _dtypes.dtype) else obj
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
        if isinstance(obj, Tensor) and type(obj).__reduce_ex__ is Tensor.__reduce_ex__:
            return reduce_tensor(obj, self.refer_as)
        if isinstance(obj, Layout):
            return _get_layout, (str(obj),)
        return NotImplemented

    def refer_as(self, storage, dtype):
        """The reference to the storage of a tensor of `dtype`, and the dtype in it."""
        dtype = dtype if has_storages(dtype) else None
        return self.refer(storage, dtype), dtype

    def refer(self, storage, dtype):
        """The reference to a storage with a dtype, or None for bytes."""
        memory = storage.identity
        if memory not in self.storages:
            self.storages[memory] = str(len(self.storages)), dtype, storage.host_bytes("saving"), storage
        key, known, raw, _ = self.storages[memory]
        if known is not dtype and raw.size:
            raise RuntimeError(TWO_DTYPES.format(one=known or "bytes", other=dtype or "bytes"))
        if dtype is None:
            return _StorageRef("storage", _UNTYPED, key, "cpu", raw.size, *self.views)
        return _StorageRef("storage", _STORAGES[dtype], key, "cpu", raw.size // dtype.itemsize, *self.views)


class _Pickler(_Saving, pickle._Pickler):
    """The pickler of ``save``."""


def save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True,
         _disable_byteorder_record=False):
    """Saves an object to a file (a path, or an object with ``write``) that PyTorch can load.

    The format is PyTorch's zip archive, or the previous one with ``_use_new_zipfile_serialization=False``.

    A regular file is replaced atomically once the new one is complete, and keeps its mode. Links are followed; pipes
    and devices are written to directly.
    """
    is_path = isinstance(f, str | os.PathLike)
    if not is_path and not hasattr(f, "write"):
        raise AttributeError(NOT_A_FILE.format(type=type(f).__name__))
    pickled = io.BytesIO()
    pickler = _pickler_class(pickle_module)(pickled, pickle_protocol)
    pickler.views = () if _use_new_zipfile_serialization else (None,)
    pickler.dump(obj)
    storages = [(key, dtype, np.zeros_like(raw) if is_skipping() else raw)
                for key, dtype, raw, _ in pickler.storages.values()]

    def write_archive(file):
        archive = Writer(file, _root_name(f) if is_path else "archive")
        archive.add("data.pkl", pickled.getvalue())
        if not _disable_byteorder_record:
            archive.add("byteorder", sys.byteorder.encode())
        for key, _, raw in storages:
            archive.add(f"data/{key}", raw)
        archive.add("version", b"3\n")
        archive.close()

    def write_old(file):
        sizes = [(key, dtype.itemsize if dtype else 1, raw) for key, dtype, raw in storages]
        write_legacy(file, pickled.getvalue(), sizes)

    write = write_archive if _use_new_zipfile_serialization else write_old
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
    """The root folder of an archive, named after the file if possible, as in PyTorch."""
    stem, _ = os.path.splitext(os.path.basename(os.fsdecode(path)))
    return stem if stem and stem.isascii() else "archive"
