"""Conversion between dtypes, devices and memory formats; copies and fills."""

import numpy as np

from .. import _dtypes
from .._device import CPU, contiguous_format, preserve_format, resolve
from .._device import device as Device
from .._fp_errors import call_without_fp_warnings
from .._layout import check_format, format_of, is_in_format
from .._modes import in_use, modes
from .._tensor import Tensor, engine_for, wrap
from ..autograd._writes import (
    WRONG_SHAPE,
    assign,
    check_history,
    check_writable,
    in_graph,
    join_level,
    write,
    write_at,
)
from ..engines import NUMPY, engine_of
from ..ops import convert as ops
from ..ops._errors import broadcast_clash
from ._args import need_tensor, np_dtype_of
from ._attach import methods
from ._data import DISCARDS, array_from, scalar_for
from ._warn import warn_once

__all__ = ["clone", "fill", "fill_", "zero_"]

_WIDEST = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}


def to(self, *args, **kwargs):
    """The tensor with another dtype or device; the tensor itself if nothing changes.

    Called as ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``, each with ``non_blocking``, ``copy`` and
    ``memory_format``.
    """
    device = dtype = None
    if args:
        first = args[0]
        if isinstance(first, _dtypes.dtype):
            dtype, rest = first, args[1:]
        elif isinstance(first, Tensor):
            device, dtype, rest = first.device, first.dtype, args[1:]
        elif first is None or (isinstance(first, (str, int, Device)) and not isinstance(first, bool)):
            device, dtype, rest = first, args[1] if len(args) > 1 else None, args[2:]
        else:
            dtype, rest = first, args[1:]
        if len(rest) > 2:
            raise TypeError(f"to() got too many positional arguments: {len(args)}")
        for name, value in zip(("non_blocking", "copy"), rest, strict=False):
            if name in kwargs:
                raise TypeError(f"to() got multiple values for argument {name!r}")
            kwargs[name] = value
    return convert_tensor(self, **_keywords(device, dtype, kwargs)) if kwargs else convert_tensor(self, device, dtype)


def _keywords(device, dtype, kwargs):
    unknown = kwargs.keys() - {"device", "dtype", "non_blocking", "copy", "memory_format"}
    if unknown:
        raise TypeError(f"to() received an invalid combination of arguments: unexpected keyword {sorted(unknown)[0]!r}")
    kwargs.pop("non_blocking", None)
    if device is not None:
        kwargs["device"] = device
    if dtype is not None:
        kwargs["dtype"] = dtype
    return kwargs


def convert_tensor(t, device=None, dtype=None, copy=False, memory_format=None):
    """Converts `t` by a single recorded copy, if anything has to change."""
    a = t._a
    target = a.dtype if dtype is None else np_dtype_of(dtype)
    if device is not None and resolve(device) is not t.device:
        return ops.to_device(convert_tensor(t, dtype=dtype), device=resolve(device))
    format = preserve_format if memory_format is None else memory_format
    if format is not preserve_format:
        check_format(format, a.ndim)
        copy = copy or format_of(a.shape, t.stride()) is not format
    if a.dtype is target or a.dtype == target:
        if not copy:
            return t
    elif a.dtype.kind == "c" and target.kind not in "cb":
        warn_once(DISCARDS, stacklevel=3)
    if format is preserve_format and _is_plain(t):
        return wrap(call_without_fp_warnings(NUMPY.copy_as, a, target))
    return ops.to_copy(t, dtype=target, format=format)


def _is_plain(t):
    """Whether the tensor is on the CPU and nothing is recorded, so that no op is needed."""
    if engine_for(t) is not NUMPY or (in_use.traced and modes.tracer.active):
        return False
    return not ((t._rg or t._view is not None) and modes.grad)


def _to_dtype(name, dtype, doc):
    """Makes the method ``name()`` that converts to a fixed dtype."""
    np_dtype = dtype.np

    def method(self, memory_format=preserve_format):
        if self._a.dtype is np_dtype and memory_format is preserve_format:
            return self
        return convert_tensor(self, dtype=dtype, memory_format=memory_format)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = doc
    return method


for _name, _dtype in {
    "float": _dtypes.float32, "double": _dtypes.float64, "half": _dtypes.float16, "bfloat16": _dtypes.bfloat16,
    "int": _dtypes.int32, "long": _dtypes.int64, "short": _dtypes.int16, "char": _dtypes.int8,
    "byte": _dtypes.uint8, "bool": _dtypes.bool_, "cfloat": _dtypes.complex64, "cdouble": _dtypes.complex128,
}.items():
    setattr(Tensor, _name, _to_dtype(_name, _dtype, f"The tensor converted to {_dtype.name}."))


def cpu(self, memory_format=preserve_format):
    """Copies the tensor to the CPU; returns the tensor itself if it is there."""
    return convert_tensor(self, CPU, memory_format=memory_format)


def cuda(self, device=None, non_blocking=False, memory_format=preserve_format):
    """The tensor on a GPU."""
    return convert_tensor(self, "cuda" if device is None else device, memory_format=memory_format)


def type_as(self, other):
    """Converts the tensor to the dtype and device of another."""
    need_tensor(other, "type_as", "other")
    return convert_tensor(self, other.device, other.dtype)


# ---- copies


def clone(input, *, memory_format=None):
    """A differentiable copy: gradients flow back to `input`."""
    if not isinstance(input, Tensor):
        need_tensor(input, "clone")
    if memory_format is None:
        if _is_plain(input):
            return wrap(NUMPY.copy_as(input._a, input._a.dtype))
        return ops.clone_as(input, format=preserve_format)
    check_format(memory_format, input._a.ndim)
    return ops.clone_as(input, format=memory_format)


def contiguous(self, memory_format=contiguous_format):
    """The tensor itself if it is contiguous in `memory_format`, otherwise a contiguous copy."""
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if memory_format is not contiguous_format:
        check_format(memory_format, self._a.ndim)
    return self if is_contiguous(self, memory_format) else ops.clone_as(self, format=memory_format)


def is_contiguous(self, memory_format=contiguous_format):
    """Whether the tensor is contiguous in `memory_format`."""
    if memory_format is contiguous_format:
        return engine_for(self).is_contiguous(self._a)
    return is_in_format(self._a.shape, self.stride(), memory_format)


# ---- writes


def copy_(self, other, non_blocking=False):
    """Copies the elements of `other`, broadcast to this shape and converted to this dtype."""
    if not isinstance(other, Tensor):
        if not isinstance(other, (int, float, complex)):
            need_tensor(other, "copy_", "other")
        other = wrap(array_from(other, _WIDEST.get(type(other))))  # converted like an element
    check_writable(self, False, other)
    a, b = self._a, other._a
    recorded = modes.grad and (in_graph(self) or in_graph(other))
    if not recorded and a.dtype is b.dtype and a.shape == b.shape and engine_for(self) is engine_for(other) is NUMPY:
        return write_at(self, "copy_", ..., b)
    if other.device is not self.device:
        other = ops.to_device(other, device=self.device)
        b = other._a
    if b.dtype.kind == "c" and a.dtype.kind not in "cb":
        warn_once(DISCARDS, stacklevel=2)
    if b.ndim > a.ndim:
        raise RuntimeError(WRONG_SHAPE.format(own=list(a.shape), new=list(b.shape)))
    if recorded:
        check_history(self)
        return assign(self, ops.copy_over(self, other), "copy_", False)
    return _write(self, b, "copy_")


def _write(t, array, name):
    if in_use.levels:
        join_level(t, (array,))
    own = t._a
    if array.dtype.kind == "c" and own.dtype.kind not in "cb":
        array = array.real
    try:
        return call_without_fp_warnings(write, t, name, engine_of(own, array).write, array)
    except ValueError:
        clash = broadcast_clash([own.shape, array.shape])
        raise RuntimeError(clash or f"{name}: {list(array.shape)} does not fit into {list(own.shape)}") from None


def fill_(input, value):
    """Sets every element to `value`, a number or a zero-dimensional tensor."""
    check_writable(input, alike=not isinstance(value, Tensor))
    if isinstance(value, Tensor):
        if value._a.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._a.ndim} dimensions."
            )
        if modes.grad and (input.requires_grad or value.requires_grad):
            check_history(input)
            return assign(input, ops.fill_from_in_place(input, value), "fill_", False)
        return _write(input, value._a, "fill_")
    value = scalar_for(_number(value, "fill_"), input._a.dtype, halves=input._a.size != 1)
    if modes.grad and input.requires_grad:
        check_history(input)
        return assign(input, ops.fill_in_place(input, value=value), "fill_", False)
    return write(input, "fill_", engine_for(input).fill, value)


def _number(value, name):
    if type(value) in _WIDEST:
        return value
    if isinstance(value, np.generic):
        return _dtypes.python_number(value)
    if not isinstance(value, (int, float, complex)):  # an instance of a user's class
        raise TypeError(f"{name}(): argument 'value' (position 1) must be Number, not {type(value).__name__}")
    return value


def fill(input, value):
    """A tensor like `input` in which every element is `value`."""
    need_tensor(input, "fill")
    if isinstance(value, Tensor):
        if value._a.ndim:
            raise RuntimeError(
                f"fill only supports 0-dimension value tensor but got tensor with {value._a.ndim} dimensions."
            )
        return ops.fill_from(input, value)
    return ops.fill(input, value=scalar_for(_number(value, "fill"), input._a.dtype))


def zero_(input):
    """Sets every element to zero."""
    need_tensor(input, "zero_")
    check_writable(input, alike=True)
    if modes.grad and input.requires_grad:
        check_history(input)
        return assign(input, ops.zero(input), "zero_", False)
    return write(input, "zero_", engine_for(input).fill, 0)


methods(clone, contiguous, copy_, cpu, cuda, fill_, is_contiguous, to, type_as, zero_)
