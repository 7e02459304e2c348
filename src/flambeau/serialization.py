"""Checkpoints in PyTorch's format, written and read without PyTorch.

A checkpoint is a zip archive: ``data.pkl`` is the pickled object, in which each tensor refers to a storage by a key,
and ``data/<key>`` are the bytes of the storages. Tensors that share memory share a storage, in the file and after
loading. Loading is restricted by default: only tensors and plain containers are made, nothing else can be called.
"""

from __future__ import annotations

import collections
import contextlib
import io
import os
import pickle
import sys
import tempfile
import zipfile
from typing import ClassVar

import numpy as np

from . import _dtypes
from ._device import META
from ._device import device as Device
from ._size import Size
from ._tensor import Storage, Tensor, address, storage_of, wrap
from .engines import meta_engine
from .functions._args import made, root_elements
from .nn.parameter import Parameter

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

NOT_ALLOWED = (
    "Weights only load failed. The checkpoint refers to {name}, which a restricted load does not create. If you trust "
    "its source, allow the class with flambeau.serialization.add_safe_globals([...]), or load everything with "
    "weights_only=False, which can run any code that the file contains."
)
NOT_A_ZIP = (
    "PytorchStreamReader failed reading zip archive: {path} is not a checkpoint, or it is cut off. Checkpoints of the "
    "format before PyTorch 1.6 are not supported: load them there and save them again."
)
NOT_A_FILE = "expected 'f' to be string, path, or a file-like object with a '{method}' attribute, got {type}"
_STORAGES = {
    "BoolStorage": _dtypes.bool_, "ByteStorage": _dtypes.uint8, "CharStorage": _dtypes.int8,
    "ShortStorage": _dtypes.int16, "IntStorage": _dtypes.int32, "LongStorage": _dtypes.int64,
    "HalfStorage": _dtypes.float16, "BFloat16Storage": _dtypes.bfloat16, "FloatStorage": _dtypes.float32,
    "DoubleStorage": _dtypes.float64, "ComplexFloatStorage": _dtypes.complex64,
    "ComplexDoubleStorage": _dtypes.complex128,
}
_STORAGE_NAMES = {dtype: name for name, dtype in _STORAGES.items()}


# ---- saving


class _Global:
    """A name that is pickled as a reference into PyTorch's modules."""

    def __init__(self, module, name):
        self.reference = f"{module}\n{name}\n".encode()

    def __call__(self):
        raise TypeError("a reference to PyTorch cannot be called here")


_TENSOR = _Global("torch._utils", "_rebuild_tensor_v2")
_META_TENSOR = _Global("torch._utils", "_rebuild_meta_tensor_no_storage")
_PARAMETER = _Global("torch._utils", "_rebuild_parameter")
_SIZE, _DEVICE = _Global("torch", "Size"), _Global("torch", "device")
_NAMED = {d: _Global("torch", d.name) for d in _dtypes.ALL}
_STORAGE_GLOBALS = {d: _Global("torch", name) for d, name in _STORAGE_NAMES.items()}


class _StorageRef:
    """Stands for a storage in the pickle."""

    def __init__(self, dtype, key, size):
        self.record = ("storage", _STORAGE_GLOBALS[dtype], key, "cpu", size)


class _Pickler(pickle._Pickler):
    """Pickles objects with PyTorch's references; collects the storages."""

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = {}  # memory -> (key, its elements)

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _Global):
            known = self.memo.get(id(obj))
            if known is not None:
                self.write(self.get(known[0]))
            else:
                self.write(pickle.GLOBAL + obj.reference)
                self.memoize(obj)
            return
        super().save(obj, save_persistent_id)

    def persistent_id(self, obj):
        return obj.record if isinstance(obj, _StorageRef) else None

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            return self.reduce_tensor(obj)
        if isinstance(obj, Size):
            return _SIZE, (tuple(obj),)
        if isinstance(obj, Device):
            return _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def save_dtype(self, obj):
        self.save(_NAMED[obj])

    dispatch: ClassVar[dict] = {**pickle._Pickler.dispatch, _dtypes.dtype: save_dtype}

    def reduce_tensor(self, t):
        if not t.is_leaf and t.requires_grad:
            t = t.detach()
        if isinstance(t, Parameter):
            return _PARAMETER, (t.data, t.requires_grad, collections.OrderedDict())
        if t.device is META:
            return _META_TENSOR, (t.dtype, tuple(t.shape), t.stride(), t.requires_grad)
        if t.dtype not in _STORAGE_NAMES:
            raise RuntimeError(f"save(): tensors of {t.dtype} cannot be written to a checkpoint; cast them first")
        storage = storage_of(t)
        flat = root_elements(t)
        key, _ = self.storages.setdefault(_memory(storage), (str(len(self.storages)), flat))
        place = _StorageRef(t.dtype, key, flat.size), t.storage_offset(), tuple(t.shape), t.stride()
        return _TENSOR, (*place, t.requires_grad, collections.OrderedDict())


def _memory(storage):
    """What tells two storages apart: where their memory begins."""
    array = storage.array
    return address(array), array.nbytes, id(storage) if array.nbytes == 0 else 0


def save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True,
         _disable_byteorder_record=False):
    """Writes an object to a file (a path, or something with ``write``). PyTorch can load it.

    A file at a path appears whole or not at all: it is written beside its place and then moved there.
    """
    if not _use_new_zipfile_serialization:
        raise RuntimeError("save(): only the zip format is written; leave _use_new_zipfile_serialization alone")
    if isinstance(f, str | os.PathLike):
        _save_atomically(obj, os.fspath(f), pickle_protocol)
    elif hasattr(f, "write"):
        _write(obj, f, "archive", pickle_protocol)
    else:
        raise AttributeError(NOT_A_FILE.format(method="write", type=type(f).__name__))


def _save_atomically(obj, path, protocol):
    folder, name = os.path.split(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    handle, beside = tempfile.mkstemp(prefix=name, suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            _write(obj, file, os.path.splitext(name)[0] or "archive", protocol)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write(obj, file, root, protocol):
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, protocol)
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{root}/data.pkl", buffer.getvalue())
        archive.writestr(f"{root}/byteorder", sys.byteorder)
        for key, flat in pickler.storages.values():
            archive.writestr(f"{root}/data/{key}", np.ascontiguousarray(flat).tobytes())
        archive.writestr(f"{root}/version", "3\n")


# ---- loading


_safe: list = []


def add_safe_globals(safe_globals):
    """Lets restricted loads create these classes and call these functions."""
    _safe.extend(safe_globals)


def get_safe_globals():
    """What ``add_safe_globals`` has allowed."""
    return list(_safe)


def clear_safe_globals():
    """Takes back what ``add_safe_globals`` has allowed."""
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals):
    """``add_safe_globals``, for a while."""
    before = list(_safe)
    _safe.extend(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


def _rebuild_meta_tensor(dtype, size, stride, requires_grad):
    return made(meta_engine().empty(tuple(size), dtype.np), META, requires_grad)


def _rebuild_tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    flat = storage.array
    if type(flat) is not np.ndarray:
        return _rebuild_meta_tensor(_dtypes.from_np(flat.dtype), size, stride, requires_grad)
    reach = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if offset < 0 or min(stride, default=0) < 0 or (0 not in size and reach >= flat.size):
        raise pickle.UnpicklingError(f"a tensor of shape {list(size)} reaches beyond its {flat.size} stored elements")
    steps = tuple(s * flat.itemsize for s in stride)
    array = np.lib.stride_tricks.as_strided(flat[offset:] if flat.size else flat, tuple(size), steps)
    t = wrap(array)
    t._storage = storage
    if requires_grad:
        t.requires_grad = True
    return t


def _rebuild_param(data, requires_grad, hooks=None, state=None):
    return Parameter(data, requires_grad)


_KNOWN = {
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): _rebuild_meta_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_param,
    ("torch", "Size"): Size,
    ("torch", "device"): Device,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "Counter"): collections.Counter,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("builtins", "complex"): complex,
    ("builtins", "bytearray"): bytearray,
    **{("torch", d.name): d for d in _dtypes.ALL},
    **{("torch", name): dtype for name, dtype in _STORAGES.items()},
}


class _Reader:
    """What both unpicklers share: tensors are made over the storages of an archive."""

    def read_from(self, archive, root, place):
        self.archive = archive
        self.root = root
        self.place = place
        self.storages = {}
        return self

    def persistent_load(self, record):
        kind, dtype, key, location, size = record
        if kind != "storage":
            raise pickle.UnpicklingError(f"unknown kind of record: {kind!r}")
        if key not in self.storages:
            raw = self.archive.read(f"{self.root}/data/{key}")
            if len(raw) != size * dtype.itemsize:
                raise pickle.UnpicklingError(f"storage {key} has {len(raw)} bytes, not {size * dtype.itemsize}")
            stays = self.place(location)
            array = np.frombuffer(bytearray(raw), dtype.np) if stays else meta_engine().empty((size,), dtype.np)
            self.storages[key] = Storage(array)
        return self.storages[key]


def _known(module, name):
    return _KNOWN.get((module.replace("__builtin__", "builtins"), name))


class _Trusting(_Reader, pickle.Unpickler):
    """Makes whatever the file asks for."""

    def find_class(self, module, name):
        known = _known(module, name)
        return super().find_class(module, name) if known is None else known


class _Restricted(_Reader, pickle._Unpickler):
    """Makes what is known and what was allowed; sets attributes on nothing but dicts and allowed classes."""

    def find_class(self, module, name):
        known = _known(module, name)
        if known is not None:
            return known
        for allowed in _safe:
            thing, label = allowed if isinstance(allowed, tuple) else (allowed, None)
            if f"{module}.{name}" == (label or f"{thing.__module__}.{thing.__qualname__}"):
                return thing
        raise pickle.UnpicklingError(NOT_ALLOWED.format(name=f"{module}.{name}"))

    def load_build(self):
        *_, target, state = self.stack
        if isinstance(target, collections.OrderedDict) and isinstance(state, dict):
            self.stack.pop()
            target.__dict__.update(state)
        elif any(type(target) is (a[0] if isinstance(a, tuple) else a) for a in _safe):
            super().load_build()
        else:
            raise pickle.UnpicklingError(NOT_ALLOWED.format(name=f"attributes of a {type(target).__name__}"))

    dispatch: ClassVar[dict] = {**pickle._Unpickler.dispatch, pickle.BUILD[0]: load_build}


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Reads what ``save`` (here or in PyTorch) wrote.

    Args:
        f: a path, or something with ``read`` and ``seek``.
        map_location: where tensors go: a device, a string, a dict or a function. They come to the CPU; for "meta"
            they come without elements.
        weights_only: (the default) make only tensors and plain containers; False allows anything the file asks for.
    """
    if weights_only is None:
        weights_only = True
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "read"):
        raise AttributeError(NOT_A_FILE.format(method="read", type=type(f).__name__))
    path = os.fspath(f) if isinstance(f, str | os.PathLike) else getattr(f, "name", "the file")
    try:
        archive = zipfile.ZipFile(f)
    except zipfile.BadZipFile:
        raise RuntimeError(NOT_A_ZIP.format(path=path)) from None
    with archive:
        names = [n for n in archive.namelist() if n.endswith("/data.pkl") and n.count("/") == 1]
        if not names:
            raise RuntimeError(NOT_A_ZIP.format(path=path))
        root = names[0].removesuffix("/data.pkl")
        order = archive.read(f"{root}/byteorder").decode() if f"{root}/byteorder" in archive.namelist() else "little"
        if order != sys.byteorder:
            raise RuntimeError(f"the checkpoint is {order}-endian, this machine is {sys.byteorder}-endian")
        file = io.BytesIO(archive.read(names[0]))
        try:
            unpickler = (_Restricted if weights_only else _Trusting)(file, **pickle_load_args)
            return unpickler.read_from(archive, root, _placing(map_location)).load()
        except zipfile.BadZipFile as error:
            raise RuntimeError(NOT_A_ZIP.format(path=path)) from error
        except (AttributeError, EOFError, IndexError, KeyError, TypeError, ValueError) as error:
            raise pickle.UnpicklingError(f"the pickle in {path} cannot be read: {error!r}") from error


def _placing(map_location):
    """Whether the elements of a storage are kept, by where it says it was; otherwise they go to the meta device."""

    def place(location):
        target = map_location.get(location, location) if isinstance(map_location, dict) else map_location
        if callable(target) or (target is None and location == "cpu"):
            return True
        if target is None:
            raise RuntimeError(
                f"Attempting to deserialize object on a {location} device, but this version has only the CPU. Use "
                "load(..., map_location='cpu')."
            )
        kind = Device(target).type
        if kind not in ("cpu", "meta"):
            raise RuntimeError(f"load(): map_location {target} needs the XLA engine, which is not there yet; use 'cpu'")
        return kind == "cpu"

    return place
