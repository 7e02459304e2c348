"""How elements lie in memory: allocation, memory formats, and the strides that copies and ``*_like`` get."""

from __future__ import annotations

import math

import numpy as np

from ..._device import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format
from .. import NUMPY as engine

NO_MEMORY = "not enough memory: you tried to allocate {bytes} bytes for a {dtype} tensor of shape {shape}"
TOO_BIG = "Storage size calculation overflowed with sizes={shape}"
TOO_BIG_AND_EMPTY = (
    "Storage size calculation overflowed with sizes={shape}: NumPy, which holds the tensors, counts them without the "
    "dimensions of size 0"
)
TOO_MANY_DIMS = "only tensors with up to 64 dims are supported, as NumPy, which holds them, goes no further; got {ndim}"

MAX_DIMS = 64

# The dimensions of a channels-last tensor from the outermost to the innermost in memory.
_CHANNELS_LAST = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def allocate(make, shape, dtype, *value):
    """``make(shape, *value, dtype)``, where a failure tells how much was asked for."""
    try:
        return make(shape, *value, dtype)
    except (MemoryError, ValueError):
        count = math.prod(shape)
        if max(shape) >= 2**63:
            raise TypeError(f"argument 'size' is too big: {max(shape)} does not fit in 64 bits") from None
        check_shape(shape, dtype)
        if count * dtype.itemsize > np.iinfo(np.intp).max:
            raise RuntimeError(TOO_BIG.format(shape=list(shape))) from None
        raise RuntimeError(NO_MEMORY.format(bytes=count * dtype.itemsize, dtype=dtype, shape=list(shape))) from None


def check_shape(shape, dtype):
    """Raises for a shape that no NumPy array has, but a tensor of PyTorch may have."""
    if len(shape) > MAX_DIMS:
        raise RuntimeError(TOO_MANY_DIMS.format(ndim=len(shape)))
    if 0 in shape and math.prod(n for n in shape if n) * dtype.itemsize > np.iinfo(np.intp).max:
        raise RuntimeError(TOO_BIG_AND_EMPTY.format(shape=list(shape)))


def check_format(format, ndim):
    """Raises unless a tensor of `ndim` dimensions can lie in `format`."""
    if not isinstance(format, memory_format):
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(format).__name__}")
    order = _CHANNELS_LAST.get(format)
    if order is not None and len(order) != ndim:
        raise RuntimeError(f"required rank {len(order)} tensor to use {format.name} format")


def empty_in(shape, dtype, format=None):
    """An uninitialised array in a memory format."""
    if format is None or format is contiguous_format:
        return allocate(np.empty, shape, dtype)
    check_format(format, len(shape))
    if format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve: there is no tensor whose format could be kept")
    order = _CHANNELS_LAST[format]
    return allocate(np.empty, tuple(shape[i] for i in order), dtype).transpose(np.argsort(order))


def empty_as(a, dtype, format=preserve_format):
    """An uninitialised array of the shape of `a`, in a memory format or (preserve) in the order of `a`."""
    if format is not preserve_format:
        return empty_in(a.shape, dtype, format)
    flags = a.flags
    if flags.c_contiguous and 1 not in a.shape:
        return allocate(np.empty, a.shape, dtype)
    steps = preserved_strides(a)
    return allocate(_with_strides, a.shape, dtype, tuple([s * dtype.itemsize for s in steps]))


def _with_strides(shape, strides, dtype):
    return np.ndarray(shape, dtype, strides=strides)


@engine.kernel
def copy_as(a, dtype, format=preserve_format):
    """The elements of `a`, converted to a NumPy dtype, in new memory."""
    if format is preserve_format and a.dtype.kind != "c" and a.flags.c_contiguous and 1 not in a.shape:
        return engine.cast(a, dtype)
    out = empty_as(a, dtype, format)
    if a.dtype.kind == "c" and dtype.kind not in "cb":
        a = a.real
    return engine.write(out, a)


def bytes_of(a):
    """All memory that an array spans, in whatever order its elements lie there, as a flat array of bytes."""
    if not a.flags.c_contiguous:
        low, high = np.lib.array_utils.byte_bounds(a)
        first = a[tuple([slice(None, None, -1 if step < 0 else 1) for step in a.strides])]  # begins where memory does
        a = np.lib.stride_tricks.as_strided(first, ((high - low) // a.itemsize,), (a.itemsize,))
    return a.reshape(-1).view(np.uint8)


def array_in(raw, dtype, offset, shape, stride):
    """The array of a NumPy dtype with the given place in an array of bytes; offset and stride in elements."""
    item = dtype.itemsize
    check_shape(shape, dtype)
    if 0 not in shape:
        last = offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
        if offset < 0 or (last + 1) * item > raw.size:
            raise RuntimeError(
                f"setStorage: sizes {list(shape)}, strides {list(stride)}, storage offset {offset} need "
                f"{(last + 1) * item} bytes, but the storage has {raw.size}"
            )
    else:
        offset = 0
    if not raw.size:
        raw = np.empty(item, np.uint8)
    return np.ndarray(shape, dtype, raw, offset * item, tuple(s * item for s in stride))


def element_strides(a):
    """The strides of an array in elements."""
    item = a.itemsize
    return tuple([s // item for s in a.strides])


def preserved_strides(a):
    """The strides, in elements, of a dense tensor that keeps the order of the dimensions of `a`."""
    steps = element_strides(a)
    if _is_dense(a.shape, steps):
        return steps
    out, step = [0] * a.ndim, 1
    for axis in reversed(_order(a.shape, steps)):
        out[axis] = step
        step *= max(a.shape[axis], 1)
    return tuple(out)


def _is_dense(shape, steps):
    """Whether the elements fill their memory without holes and overlaps, in whatever order."""
    expected = 1
    for step, n in sorted(zip(steps, shape, strict=True)):
        if n != 1:
            if step != expected:
                return False
            expected *= n
    return True


def _order(shape, steps):
    """The axes from the outermost to the innermost. A broadcast axis (step 0) stays beside its neighbours."""
    order = []
    for axis in range(len(shape)):
        place = len(order)
        for i in reversed(range(len(order))):
            other = order[i]
            if steps[axis] and steps[other]:
                if (steps[axis], shape[axis]) <= (steps[other], shape[other]):
                    break
                place = i
        order.insert(place, axis)
    return order


def is_laid_out(a, format):
    """Whether the elements of `a` lie in `format` without gaps; dimensions of size 1 may have any stride."""
    if type(a) is not np.ndarray:
        return format not in _CHANNELS_LAST  # other engines' arrays say nothing else about their order
    order = _CHANNELS_LAST.get(format)
    if order is None:
        return a.flags.c_contiguous
    if a.ndim != len(order):
        return False
    steps, expected = element_strides(a), 1
    for axis in reversed(order):
        if a.shape[axis] != 1:
            if steps[axis] != expected:
                return False
            expected *= a.shape[axis]
    return True


def format_of(a):
    """The memory format that the strides of `a` suggest; contiguous where they leave it open."""
    if type(a) is not np.ndarray:
        return contiguous_format
    for format, order in _CHANNELS_LAST.items():
        if a.ndim == len(order) and _suggests(a, order):
            return format
    return contiguous_format


def _suggests(a, order):
    steps, least = element_strides(a), 0
    if steps[1] == 0 or a.size == 0:
        return False
    for axis in reversed(order):
        if steps[axis] < least or (axis == 0 and least == steps[1]):
            return False
        least = steps[axis] * max(a.shape[axis], 1)
    return True


__all__ = ["allocate", "array_in", "bytes_of", "check_format", "copy_as", "element_strides", "empty_as", "empty_in",
           "format_of", "is_laid_out", "preserved_strides"]
