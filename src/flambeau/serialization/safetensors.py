"""The safetensors format: named tensors and text metadata, without executable content.

The names are those of ``safetensors.torch``, which also works with Flambeau under the alias ``torch``. The package
``safetensors`` (the extra ``safetensors``) lays out and validates the bytes; files are written atomically, as by
``flambeau.save``.

Example::

    >>> from flambeau.serialization import safetensors
    >>> data = safetensors.save({"x": arange(3.0)}, metadata={"format": "pt"})
    >>> safetensors.load(data)
    {'x': tensor([0., 1., 2.])}
"""

import math
import os

import numpy as np

from .. import _dtypes
from .._device import strided
from .._storage import address
from .._tensor import Tensor, storage_of, wrap
from ..engines import NUMPY
from ._files import write_file

try:
    from safetensors import SafetensorError, TensorSpec, deserialize, safe_open, serialize
except ImportError as error:
    raise ImportError(
        "files in the safetensors format need the package of that name, version 0.8 or later: "
        "pip install 'flambeau[safetensors]'"
    ) from error

__all__ = ["SafetensorError", "load", "load_file", "load_model", "save", "save_file", "save_model"]

NOT_A_DICT = "Expected a dict of [str, torch.Tensor] but received {type}"
NOT_A_NAME = "the names of tensors are strings, but {name!r} is of type {type}"
NOT_A_TENSOR = "Key `{name}` is invalid, expected torch.Tensor but received {type}"
NOT_TEXT = "metadata is a dict of strings by strings, but has {name!r}: {value!r}"
SPARSE = "You are trying to save a sparse tensor, `{name}`: files have dense ones only. Save its to_dense()."
NO_ELEMENTS = "`{name}` is on the device {device}, where it has no elements to save"
NOT_CONTIGUOUS = (
    "You are trying to save a non contiguous tensor: `{name}` which is not allowed. Save its contiguous(), or let "
    "save_model(..., force_contiguous=True) do so."
)
NO_CODE = "`{name}` is of {dtype}, which the safetensors format does not have"
SHARED = (
    "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them "
    "again: {groups}. Save one of each group, or a clone(), or use save_model."
)
NONE_IS_WHOLE = (
    "found no suitable name to keep for saving amongst: {names}. They share memory, and none is covering the entire "
    "storage: save clones of them."
)
DAMAGED = "{path} is damaged, cut off, or no file in the safetensors format: {why}"
KEYS = "Error(s) in loading state_dict for {model}:{lines}"

_CODES = {
    "F64": _dtypes.float64, "F32": _dtypes.float32, "F16": _dtypes.float16, "BF16": _dtypes.bfloat16,
    "I64": _dtypes.int64, "I32": _dtypes.int32, "I16": _dtypes.int16, "I8": _dtypes.int8,
    "U64": _dtypes.uint64, "U32": _dtypes.uint32, "U16": _dtypes.uint16, "U8": _dtypes.uint8,
    "F8_E4M3": _dtypes.float8_e4m3fn, "F8_E5M2": _dtypes.float8_e5m2, "C64": _dtypes.complex64, "BOOL": _dtypes.bool_,
}


# ---- tensors


def save(tensors, metadata=None):
    """Serializes a dict of tensors to bytes. `metadata` is a dict of strings."""
    _check(tensors, metadata)
    arrays = {name: NUMPY.bytes_of(t.detach().cpu()._a) for name, t in tensors.items()}
    specs = {
        name: TensorSpec(dtype=t.dtype.name, shape=tuple(t.shape), data_ptr=address(raw), data_len=raw.size)
        for (name, t), raw in zip(tensors.items(), arrays.values())
    }
    return bytes(serialize(specs, metadata=metadata))


def save_file(tensors, filename, metadata=None):
    """Saves a dict of tensors to a file, which is replaced atomically."""
    data = save(tensors, metadata)
    write_file(filename, lambda file: file.write(data))


def load(data):
    """Loads the tensors from the bytes of a file."""
    try:
        found = deserialize(data)
    except SafetensorError as error:
        raise SafetensorError(DAMAGED.format(path="the data", why=error)) from None
    return {name: _tensor(np.frombuffer(of["data"], np.uint8), of["dtype"], of["shape"]) for name, of in sorted(found)}


def load_file(filename, device="cpu"):
    """Loads the tensors from a file. On the CPU they are memory-mapped: elements are read on first use, and writes do
    not change the file."""
    path = os.fspath(filename)
    try:
        with safe_open(path, framework="np") as file:  # validates the header
            entries = {name: file.get_slice(name) for name in file.offset_keys()}
            places = {name: (entry.get_dtype(), entry.get_shape()) for name, entry in entries.items()}
    except SafetensorError as error:
        raise SafetensorError(DAMAGED.format(path=path, why=error)) from None
    raw = np.memmap(path, np.uint8, "c").view(np.ndarray)
    offset = 8 + int.from_bytes(raw[:8].tobytes(), "little")  # the start of the elements, which are contiguous
    tensors = {}
    for name, (code, shape) in places.items():
        size = math.prod(shape) * _dtype(code).itemsize
        tensors[name] = _tensor(raw[offset: offset + size], code, shape).to(device)
        offset += size
    return tensors


def _dtype(code):
    if code not in _CODES:
        raise SafetensorError(f"there are no tensors of the file's dtype {code} here")
    return _CODES[code]


def _tensor(raw, code, shape):
    array = raw.view(_dtype(code).np)
    return wrap((array if array.flags.aligned else array.copy()).reshape(shape))


def _check(tensors, metadata):
    """Raises for tensors or metadata that the format does not support."""
    if not isinstance(tensors, dict):
        raise ValueError(NOT_A_DICT.format(type=type(tensors)))
    for name, value in (metadata or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(NOT_TEXT.format(name=name, value=value))
    for name, t in tensors.items():
        if not isinstance(name, str):
            raise TypeError(NOT_A_NAME.format(name=name, type=type(name)))
        if not isinstance(t, Tensor):
            raise ValueError(NOT_A_TENSOR.format(name=name, type=type(t)))
        if t.layout is not strided:
            raise ValueError(SPARSE.format(name=name))
        if t.device.type == "meta":
            raise ValueError(NO_ELEMENTS.format(name=name, device=t.device))
        if not t.is_contiguous():
            raise ValueError(NOT_CONTIGUOUS.format(name=name))
        if t.dtype not in _CODES.values():
            raise ValueError(NO_CODE.format(name=name, dtype=t.dtype))
    groups = _groups(tensors)
    if groups:
        raise RuntimeError(SHARED.format(groups=groups))


# ---- models


def save_model(model, filename, metadata=None, force_contiguous=True):
    """Saves the parameters and buffers of a model. Of tensors that share memory only one is written; the metadata map
    the other names to it."""
    tensors = model.state_dict()
    metadata = dict(metadata or {})
    for name, kept in _duplicates(tensors).items():
        metadata.setdefault(name, kept)
        del tensors[name]
    if force_contiguous:
        tensors = {name: t.contiguous() for name, t in tensors.items()}
    save_file(tensors, filename, metadata or None)


def load_model(model, filename, strict=True, device="cpu"):
    """Loads a file written by ``save_model`` into a model.

    Returns the missing names (a set) and the unexpected ones (a list). With `strict`, either raises an error.
    """
    tensors = load_file(filename, device)
    duplicates = _duplicates(model.state_dict(), preferred=tensors)
    result = model.load_state_dict(tensors, strict=False)
    missing, unexpected = set(result.missing_keys), list(result.unexpected_keys)
    unexpected += [name for name in duplicates if name not in missing]
    missing -= duplicates.keys()
    if strict and (missing or unexpected):
        lines = _key_lines("Missing", missing) + _key_lines("Unexpected", unexpected)
        raise RuntimeError(KEYS.format(model=type(model).__name__, lines=lines))
    return missing, unexpected


def _key_lines(word, names):
    quoted = ", ".join(f'"{name}"' for name in sorted(names))
    return f"\n    {word} key(s) in state_dict: {quoted}" if names else ""


def _duplicates(tensors, preferred=()):
    """{name: the name it is written under}, for names that share memory."""
    duplicates = {}
    for names in _groups(tensors):
        whole = [name for name in names if _is_whole(tensors[name])]
        if not whole:
            raise RuntimeError(NONE_IS_WHOLE.format(names=names))
        kept = next((name for name in whole if name in preferred), whole[0])
        duplicates |= {name: kept for name in names if name != kept}
    return duplicates


def _groups(tensors):
    """Sorted lists of names whose tensors overlap in memory."""
    by_storage = {}
    for name, t in tensors.items():
        if t.layout is strided and t.device.type != "meta" and t.numel():
            memory = t.untyped_storage().data_ptr() or storage_of(t).identity  # accelerators have no addresses
            by_storage.setdefault(memory, []).append((*_reach(t), name))
    groups = []
    for reaches in by_storage.values():
        end = -1
        for start, stop, name in sorted(reaches):
            if start >= end:
                groups.append([])
            groups[-1].append(name)
            end = max(end, stop)
    return [sorted(names) for names in groups if len(names) > 1]


def _reach(t):
    """The byte range of its storage that a tensor spans."""
    last = sum((size - 1) * stride for size, stride in zip(t.shape, t.stride()))
    start = t.storage_offset() * t.itemsize
    return start, start + (last + 1) * t.itemsize


def _is_whole(t):
    """Whether a tensor covers all elements of its storage."""
    return t.numel() * t.itemsize == t.untyped_storage().nbytes()
