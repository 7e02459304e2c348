"""Moving and casting all tensors of a module at once."""

from __future__ import annotations

from typing import Any, Self

from ... import _dtypes
from ..._device import device as Device
from ..._device import memory_format as MemoryFormat
from ..._dtypes import dtype as DType
from ..._dtypes import from_np
from ..._modes import no_grad
from ..._tensor import Tensor
from ...functions._args import np_dtype_of
from ...functions.convert import convert_tensor
from ...functions.creation import empty_like
from ..parameter import is_lazy

NO_DATA = (
    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
    "when moving a module from meta to another device, and initialise its parameters then."
)


class Movable:
    """The part of Module that casts its parameters and buffers and moves them to devices."""

    def _apply(self, fn, recurse=True):
        """Replaces every parameter, gradient and buffer by ``fn`` of it; parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        if self._parameters:
            with no_grad():
                for parameter in self._parameters.values():
                    if parameter is not None:
                        _replace(parameter, fn)
                        if parameter._grad is not None:
                            _replace(parameter._grad, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def float(self) -> Self:
        """Casts floating parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Casts floating parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Casts floating parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Casts floating parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def type(self, dst_type: Any) -> Self:
        """Casts all parameters and buffers to ``dst_type``."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Self:
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Moves parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device=None):
        """Moves parameters and buffers to an XPU."""
        return self._apply(lambda t: t.to(_on("xpu", device)))

    def ipu(self, device=None):
        """Moves parameters and buffers to an IPU."""
        return self._apply(lambda t: t.to(_on("ipu", device)))

    def mtia(self, device=None):
        """Moves parameters and buffers to an MTIA device."""
        return self._apply(lambda t: t.to(_on("mtia", device)))

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers; a dtype applies only to floating and complex ones.

        Call it as ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)`` or ``to(memory_format=...)``.
        The module itself is changed, and returned.
        """
        device, dtype, memory_format = parse_to(args, kwargs)
        if dtype is not None and dtype.category < _dtypes.FLOAT:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired "
                            f"dtype={dtype}")

        needs_data = device is not None and device.type != "meta"

        def convert(t):
            wanted = dtype if t.dtype.category >= _dtypes.FLOAT else None
            if is_lazy(t):
                return t.to(device, wanted)
            if needs_data and t.is_meta:
                raise NotImplementedError(NO_DATA)
            format = memory_format if memory_format is not None and t.dim() in (4, 5) else None
            return convert_tensor(t, device, wanted, memory_format=format)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves parameters and buffers to a device without copying their values."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def share_memory(self):
        """Moves parameters and buffers into shared memory."""
        return self._apply(lambda t: t.share_memory_())


def _replace(tensor, fn):
    """Replaces the data of a tensor by ``fn(tensor)``; it stays the same object."""
    changed = fn(tensor)
    if changed is not tensor:
        tensor.data = changed


def _on(kind, device):
    return kind if device is None else f"{kind}:{device}"


# ---- the arguments of ``to``

_FLAGS = ("non_blocking", "copy")


def parse_to(args, kwargs):
    """(device, dtype, memory_format), from any form of the arguments. ``non_blocking`` has no effect."""
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
    if isinstance(first, (DType, type)):
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
