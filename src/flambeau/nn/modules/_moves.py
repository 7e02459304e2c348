"""The arguments of ``Module.to``."""

from __future__ import annotations

from ..._device import device as Device
from ..._device import memory_format as MemoryFormat
from ..._dtypes import dtype as DType
from ..._dtypes import from_np
from ..._tensor import Tensor
from ...functions._args import np_dtype_of

_FLAGS = ("non_blocking", "copy")


def parse_to(args, kwargs):
    """(device, dtype, memory_format), from any form of the arguments. Nothing here blocks or does not."""
    given = _by_name(args, kwargs)
    device, dtype, other = given.get("device"), given.get("dtype"), given.get("tensor")
    if isinstance(dtype, type):
        dtype = from_np(np_dtype_of(dtype))  # Python's float and complex
    _check(dtype, DType, "dtype")
    _check(device, str | int | Device, "device")
    _check(given.get("memory_format"), MemoryFormat, "memory_format")
    if given.get("copy") is not None:
        raise RuntimeError(".to() does not accept copy argument: a module is changed in place; deepcopy it first")
    if other is not None:
        _check(other, Tensor, "tensor")
        device, dtype = other.device, other.dtype
    return None if device is None else Device(device), dtype, given.get("memory_format")


def _by_name(args, kwargs):
    """The arguments by name: ``to(device, dtype)``, ``to(dtype)`` or ``to(tensor)``, each followed by flags."""
    first = args[0] if args else None
    if isinstance(first, DType | type):
        names = ("dtype", *_FLAGS)
    elif isinstance(first, Tensor) or "tensor" in kwargs:
        names = ("tensor", *_FLAGS)
    else:
        names = ("device", "dtype", *_FLAGS)
    if len(args) > len(names):
        raise TypeError(f"to() takes at most {len(names)} positional arguments here, got {len(args)}")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in given:
            raise TypeError(f"to() got multiple values for argument {name!r}")
        if name not in (*names, "memory_format"):
            raise TypeError(f"to() got an unexpected keyword argument {name!r}")
        given[name] = value
    for flag in _FLAGS:
        _check(given.get(flag), bool, flag)
    return given


def _check(value, kind, name):
    if value is not None and (not isinstance(value, kind) or (name == "device" and isinstance(value, bool))):
        raise TypeError(f"to(): argument {name!r} cannot be of type {type(value).__name__}")
