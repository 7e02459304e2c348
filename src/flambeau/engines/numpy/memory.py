"""The layout of elements in memory: allocation, memory formats, and the strides of copies and ``*_like``."""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..._device import CPU, contiguous_format, preserve_format
from ..._layout import CHANNELS_LAST, check_format, contiguous_strides, dense_strides, format_of, preserved_strides
from .. import NUMPY as engine

NO_MEMORY = (
    "not enough memory: can't allocate memory: you tried to allocate {bytes} bytes for a {dtype} tensor of shape "
    "{shape}"
)
NO_MEMORY_FOR = "not enough memory: can't allocate memory for {name}: {cause}"
TOO_BIG = "Storage size calculation overflowed with sizes={shape}"
TOO_BIG_AND_EMPTY = (
    "Storage size calculation overflowed with sizes={shape}: NumPy, which holds the tensors, counts them without the "
    "dimensions of size 0"
)
TOO_MANY_DIMS = "only tensors with up to 64 dims are supported, as NumPy, which holds them, goes no further; got {ndim}"

MAX_DIMS = 64


@engine.kernel
def allocate(make, shape, dtype, *value):
    """``make(shape, *value, dtype)``, with the requested size in the out-of-memory error."""
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


@engine.kernel
def full(shape, value, dtype):
    """An array of one value; three times as fast as NumPy's for small ones."""
    out = np.empty(shape, dtype)
    out[...] = value
    return out


@engine.kernel
def plain_shape(args):
    """The shape in arguments ``2, 3`` or ``(2, 3)``, if it is of non-negative ints; otherwise None."""
    sizes = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    return tuple(sizes) if all([type(n) is int and n >= 0 for n in sizes]) else None


def check_shape(shape, dtype):
    """Raises for a shape that a tensor of PyTorch may have, but no NumPy array."""
    if len(shape) > MAX_DIMS:
        raise RuntimeError(TOO_MANY_DIMS.format(ndim=len(shape)))
    if 0 in shape and math.prod(n for n in shape if n) * dtype.itemsize > np.iinfo(np.intp).max:
        raise RuntimeError(TOO_BIG_AND_EMPTY.format(shape=list(shape)))


# ---- arrays and devices


@engine.kernel
def create(make, shape, dtype, device, *value):
    return allocate(make, shape, dtype, *value)


@engine.kernel
def from_host(array, device):
    return array


@engine.kernel
def to_host(array):
    return array


@engine.kernel
def device_of(array):
    return CPU


@engine.kernel
def is_traced(array):
    return False


@engine.kernel
def strides_of(array):
    """The strides of an array in elements, as PyTorch has them."""
    return element_strides(array) if array.size else contiguous_strides(array.shape)


@engine.kernel
def is_expanded(array):
    """Whether a dimension has stride 0 and so repeats elements."""
    return 0 in array.strides and array.size > 0 and any([s == 0 and n > 1 for s, n in zip(array.strides, array.shape)])


@engine.kernel
def is_contiguous(array):
    return array.flags.c_contiguous


@engine.kernel
def is_writable(array):
    return array.flags.writeable


# ---- memory formats


@engine.kernel
def empty_in(shape, dtype, format=None):
    """An uninitialised array in a memory format."""
    if format is None or format is contiguous_format:
        return allocate(np.empty, shape, dtype)
    check_format(format, len(shape))
    if format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve: there is no tensor whose format could be kept")
    order = CHANNELS_LAST[format]
    return allocate(np.empty, tuple(shape[i] for i in order), dtype).transpose(np.argsort(order))


def empty_as(a, dtype, format=preserve_format):
    """An uninitialised array of the shape of `a`, in a memory format or (preserve) in the order of `a`."""
    if format is not preserve_format:
        return empty_in(a.shape, dtype, format)
    flags = a.flags
    if flags.c_contiguous and 1 not in a.shape:
        return allocate(np.empty, a.shape, dtype)
    steps = preserved_strides(a.shape, element_strides(a))
    return allocate(_with_strides, a.shape, dtype, tuple([s * dtype.itemsize for s in steps]))


def _with_strides(shape, strides, dtype):
    return np.ndarray(shape, dtype, strides=strides)


@engine.kernel
def copy_as(a, dtype, format=preserve_format):
    """The elements of `a`, converted to a NumPy dtype, in new memory."""
    if a.dtype is dtype and format is preserve_format and a.flags.c_contiguous and 1 not in a.shape:
        return a.copy()
    if format is preserve_format and a.dtype.kind != "c" and a.flags.c_contiguous and 1 not in a.shape:
        return engine.cast(a, dtype)
    out = empty_as(a, dtype, format)
    if a.dtype.kind == "c" and dtype.kind not in "cb":
        a = a.real
    return engine.write(out, a)


@engine.kernel
def bytes_of(a):
    """All memory that an array spans, in any element order, as a flat array of bytes."""
    if not a.flags.c_contiguous:
        low, high = np.lib.array_utils.byte_bounds(a)
        first = a[tuple([slice(None, None, -1 if step < 0 else 1) for step in a.strides])]  # from the lowest address
        a = np.lib.stride_tricks.as_strided(first, ((high - low) // a.itemsize,), (a.itemsize,))
    return a.reshape(-1).view(np.uint8)


@engine.kernel
def array_in(raw, dtype, offset, shape, stride):
    """The array of a NumPy dtype at a place in an array of bytes; offset and strides are in elements."""
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


@engine.kernel
def in_format_of(y, *operands):
    """y, contiguous in the memory format of the operands: channels-last if one of them is."""
    order = None
    for x in operands:
        if order is None and x is not None and x.ndim > 3 and x.strides[1] <= x.strides[-1]:
            order = CHANNELS_LAST.get(format_of(x.shape, [step // x.itemsize for step in x.strides]))
    if order is None:
        if y.flags.c_contiguous and 1 not in y.shape:
            return y
        order = range(y.ndim)
    strides = tuple([y.itemsize * step for step in dense_strides(y.shape, order)])
    if y.strides == strides:
        return y
    return as_strided(np.ascontiguousarray(y.transpose(order)), y.shape, strides)
