"""Factory functions: tensors from shapes and ranges."""

import math
from functools import partial

import numpy as np

from .. import _dtypes
from .._device import preserve_format
from .._dtypes import type_word
from .._fp_errors import call_without_fp_warnings, ignore_fp_errors
from .._tensor import Tensor
from ..engines import NUMPY
from ._args import allocating, as_int, nonnegative, np_dtype_of, shape_from
from ._data import scalar_for
from ._determinism import determinism, fill_uninitialized
from ._out import out_variant, own, refill, refill_with_warning, resize_without_warning
from .like import (
    create,
    empty_like,
    full_like,
    number,
    ones_like,
    shape_of_arguments,
    strided_maker,
    zeros_like,
)

__all__ = [
    "arange", "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "full", "full_like", "linspace",
    "logspace", "ones", "ones_like", "tril_indices", "triu_indices", "zeros", "zeros_like",
]


@out_variant(dtype=own, fit=resize_without_warning)
def zeros(*args, size=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``."""
    shape = NUMPY.plain_shape(args) or shape_of_arguments("zeros", args, size)
    return create("zeros", np.zeros, shape, np_dtype_of(dtype), layout, device, requires_grad)


def ones_array(shape, dtype):
    """np.ones, but twice as fast for small arrays."""
    out = np.empty(shape, dtype)
    out.fill(1)
    return out


@out_variant(dtype=own, fit=resize_without_warning)
def ones(*args, size=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of ones: ``ones(2, 3)`` or ``ones((2, 3))``."""
    shape = NUMPY.plain_shape(args) or shape_of_arguments("ones", args, size)
    return create("ones", ones_array, shape, np_dtype_of(dtype), layout, device, requires_grad)


@out_variant(dtype=own, fit=resize_without_warning)
def empty(*args, size=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
          memory_format=None):
    """An uninitialised tensor."""
    shape = NUMPY.plain_shape(args) or shape_of_arguments("empty", args, size)
    if memory_format is preserve_format:
        NUMPY.empty_in(shape, np_dtype_of(dtype), memory_format)
    make = np.empty if memory_format is None else partial(NUMPY.empty_in, format=memory_format)
    out = create("empty", make, shape, np_dtype_of(dtype), layout, device, requires_grad)
    return fill_uninitialized(out) if determinism.fills else out


@out_variant(dtype=own, fit=resize_without_warning)
def full(size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, names=None):
    """A tensor filled with one value, which also determines the default dtype."""
    if names is not None:
        raise NotImplementedError("full(): named dimensions are not supported; leave the names argument out")
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    shape = NUMPY.plain_shape((size,)) or nonnegative(shape_from((size,), name="full"))
    value = number(fill_value, "full", "fill_value", 2)
    target = np_dtype_of(dtype, _dtypes.scalar_dtype(value))
    value = scalar_for(value, target, halves=math.prod(shape) != 1)
    return create("full", NUMPY.full, shape, target, layout, device, requires_grad, value)


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """An uninitialized tensor with these strides (in elements)."""
    make = strided_maker(size, stride)
    shape = nonnegative(shape_from((size,), name="empty_strided"))
    out = create("empty_strided", make, shape, np_dtype_of(dtype), layout, device, requires_grad, strides=tuple(stride))
    return fill_uninitialized(out) if determinism.fills else out


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, pin_memory=False,
                   requires_grad=False):
    """An uninitialised tensor; `physical_layout` orders its dimensions in memory from outermost to innermost."""
    shape, order = nonnegative(shape_from((size,), name="empty_permuted")), tuple(physical_layout)
    if len(shape) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    for at, d in enumerate(order):
        if not 0 <= d < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {d} at index {at}): "
                "physical_layout counts from the front"
            )
    if len({*order}) < len(order):
        raise RuntimeError(f"Duplicate dim not allowed: physical_layout names each dimension once, got {list(order)}")

    def make(shape, dtype):
        return np.empty([shape[i] for i in order], dtype).transpose(np.argsort(order))

    out = create("empty_permuted", make, shape, np_dtype_of(dtype), layout, device, requires_grad)
    return fill_uninitialized(out) if determinism.fills else out


@out_variant(dtype=own, fit=resize_without_warning)
def eye(n, m=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The n × m matrix with ones on the diagonal (square by default)."""
    n = as_int(n, "eye", "n")
    m = n if m is None else as_int(m, "eye", "m")
    for name, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")

    def make(shape, dtype):
        a = np.zeros(shape, dtype)
        a.reshape(-1)[: min(n, m) * (m + 1): m + 1] = 1
        return a

    return create("eye", make, (n, m), np_dtype_of(dtype), layout, device, requires_grad)


# ---- ranges


@out_variant(dtype=own, fit=refill_with_warning)
def arange(start=None, end=None, step=1, *, dtype=None, layout=None, device=None, pin_memory=False,
           requires_grad=False):
    """The numbers from `start` (default 0) up to but excluding `end`, in steps of `step`.

    Example::

        >>> arange(1, 2.5, 0.5)
        tensor([1.0000, 1.5000, 2.0000])
    """
    if end is None:
        start, end = 0, number(start, "arange", "end", 1)
    elif start is None:
        start = 0
    if dtype is None and _is_simple(start, end, step):
        length = -((start - end) // step)
        return create("arange", _count, (length,), _INT64, layout, device, requires_grad, start, end, step)
    start, end, step = (number(v, "arange", n, i) for i, (v, n) in
                        enumerate(((start, "start"), (end, "end"), (step, "step")), 1))
    if any(isinstance(v, complex) for v in (start, end, step)):
        raise RuntimeError("value cannot be converted to type double without overflow: arange takes real bounds")
    if dtype is None:
        floats = any(isinstance(v, float) for v in (start, end, step))
        dtype = _dtypes.get_default_dtype() if floats else _dtypes.int64
    target = np_dtype_of(dtype)
    if target.kind in "bc":
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type_word(dtype)}'")
    length = range_length(start, end, step, target)

    def make(shape, dtype):
        with ignore_fp_errors():
            if dtype.kind in "iu":
                first, by = int(start), int(step)
                if not by:  # the step truncates to 0; the length was computed before
                    return np.full(length, first, np.int64).astype(dtype)
                if abs(first) + abs(by) * max(length, 1) >= 2**63:
                    return np.array([first + i * by for i in range(length)], dtype)
                return np.arange(first, first + by * length, by, np.int64).astype(dtype, copy=False)
            return _dtypes.narrow(start + step * np.arange(length, dtype=np.float64), dtype).astype(dtype, copy=False)

    return create("arange", make, (length,), target, layout, device, requires_grad)


_INT64 = _dtypes.int64.np
_FAR = 2**62


def _is_simple(start, end, step):
    """Whether this is a valid range of ints: the common case."""
    ints = type(start) is type(end) is type(step) is int
    return ints and step and (end - start) * step >= 0 and -_FAR < start < _FAR and -_FAR < end < _FAR


def _count(shape, start, end, step, dtype):
    return np.arange(start, end, step, dtype)


def range_length(start, end, step, dtype):
    """The number of elements of ``arange`` in a NumPy dtype; raises if it is not finite."""
    if dtype == np.int64 and all(math.isfinite(v) for v in (start, end, step)) and (end - start) * step >= 0:
        if step and not int(step):
            raise ValueError(f"step must be nonzero, but in int64 the step {step} is 0")
        start, end, step = int(start), int(end), int(step)
    if step == 0 or step != step:
        raise RuntimeError("step must be nonzero")
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: {start} to {end} in steps of {step}"
        )
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return -((start - end) // step)
    length = math.ceil((end - start) / step)
    if length >= 2**63:
        raise RuntimeError(f"invalid size, possible overflow? {start} to {end} in steps of {step} are {length} numbers")
    return length


@out_variant(dtype=own, fit=refill)
def linspace(start, end, steps=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """`steps` evenly spaced numbers from `start` to `end` inclusive."""
    return _space("linspace", start, end, steps, None, dtype, layout, device, requires_grad)


@out_variant(dtype=own, fit=refill)
def logspace(start, end, steps=None, base=10.0, *, dtype=None, layout=None, device=None, pin_memory=False,
             requires_grad=False):
    """`base` to the powers of ``linspace(start, end, steps)``."""
    return _space("logspace", start, end, steps, base, dtype, layout, device, requires_grad)


def _space(name, start, end, steps, base, dtype, layout, device, requires_grad):
    if steps is None:
        raise TypeError(f'{name}() missing 1 required argument: "steps"')
    if isinstance(steps, float):
        kinds = ", ".join(type(v).__name__ for v in (start, end, steps))
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({kinds}): argument 'steps' must be int"
        )
    steps = as_int(steps, name, "steps")
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, got {steps}")
    for v, which in ((start, "start"), (end, "end")):
        if isinstance(v, Tensor) and v._a.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {which} with {v._a.ndim} "
                "dimension(s)."
            )
    start, end = number(start, name, "start", 1), number(end, name, "end", 2)
    if dtype is None:
        dtype = _dtypes.get_default_dtype()
        if isinstance(start, complex) or isinstance(end, complex):
            dtype = dtype.to_complex()
    target = np_dtype_of(dtype)
    if target.kind == "b" and steps > 1:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if target.kind != "c" and (isinstance(start, complex) or isinstance(end, complex)):
        raise RuntimeError(f"{name}(): inferred dtype is complex, but got the real dtype {dtype}")

    def make(shape, dtype):
        return call_without_fp_warnings(_spaced_numbers, start, end, steps, base, dtype)

    return create(name, make, (steps,), target, layout, device, requires_grad)


def _spaced_numbers(start, end, steps, base, dtype):
    values = _even_spacing(start, end, steps, dtype)
    if base is not None:
        values = np.power(complex(base) if dtype.kind == "c" else float(base), values)
    return _dtypes.narrow(values, dtype).astype(dtype, copy=False)


def _even_spacing(start, end, steps, dtype):
    """Evenly spaced numbers, computed from both ends towards the middle and therefore symmetric."""
    wide = np.complex128 if dtype.kind == "c" else np.float64
    if steps == 1:
        return np.array([start], wide)
    step = (end - start) / (steps - 1) if steps > 1 else 0
    values = np.arange(steps, dtype=wide)
    front, back = values[: steps // 2], values[steps // 2 :]
    back -= steps - 1
    values *= step
    front += start
    back += end
    return values


# ---- triangles


def tril_indices(row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The (row, column) indices of the lower triangle of a row × col matrix, as two rows."""
    return _triangle("tril_indices", np.greater_equal, row, col, offset, dtype, layout, device, requires_grad)


def triu_indices(row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The (row, column) indices of the upper triangle of a row × col matrix, as two rows."""
    return _triangle("triu_indices", np.less_equal, row, col, offset, dtype, layout, device, requires_grad)


@allocating
def _triangle(name, has, row, col, offset, dtype, layout, device, requires_grad):
    for what, n in (("row", row), ("col", col)):
        if as_int(n, name, what) < 0:
            raise RuntimeError(f"{what} must be non-negative, got {n}")
    dtype = dtype or _dtypes.int64
    if dtype not in (_dtypes.int64, _dtypes.int32):
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_word(dtype)}'")
    mask = has.outer(np.arange(offset, row + offset), np.arange(col))  # of shape (row, col)
    found = np.array(mask.nonzero(), dtype.np)
    return create(name, lambda shape, dtype: found, found.shape, dtype.np, layout, device, requires_grad)
