"""Views with PyTorch's strides, and the transposes that their gradients need.

NumPy leaves the stride of a dimension of size one undefined, but users of PyTorch can see it. So these kernels compute
the strides themselves, and return writable views.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..._layout import extent, overlaps, view_strides
from .. import NUMPY as engine
from .memory import check_shape, element_strides

NOT_VIEWABLE = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous subspaces). Use .reshape(...) instead. (Size {old} with strides {strides} cannot become {new}.)"
)


@engine.kernel
def restride(x, shape, strides, start=0, dtype=None):
    """The memory of x from `start` on (in bytes, like the strides), within the span of x's elements."""
    if not x.flags.c_contiguous:
        x, before = memory_of(x)
        start += before
    try:
        return np.ndarray(shape, dtype or x.dtype, x, start, strides)
    except ValueError:
        check_shape(shape, dtype or x.dtype)
        raise


def memory_of(x):
    """A C-contiguous array over the memory of x, and the offset of x in bytes."""
    owner = x.base
    if type(owner) is not np.ndarray or owner.dtype != x.dtype:
        owner = x
    owner = in_memory_order(owner)
    if not owner.flags.c_contiguous:
        owner = in_memory_order(x)
        span = sum((n - 1) * step for n, step in zip(owner.shape, owner.strides)) // x.itemsize + 1 if x.size else 0
        owner = as_strided(owner, (span,), (x.itemsize,))
    return owner, x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]


def in_memory_order(x):
    """x with positive, descending strides."""
    x = x[(*[slice(None, None, -1 if step < 0 else 1) for step in x.strides], ...)]
    return x.transpose(sorted(range(x.ndim), key=x.strides.__getitem__, reverse=True))


@engine.kernel
def broadcast_to(x, shape):
    old, steps = x.shape, x.strides
    lead = len(shape) - len(old)
    if lead >= 0 and old == shape[lead:] and 1 not in shape[:lead]:
        return restride(x, shape, (0,) * lead + steps)
    strides, step = [], x.itemsize
    for i in range(len(shape) - 1, -1, -1):
        n = shape[i]
        if i >= lead:
            step = steps[i - lead]
            size = old[i - lead]
            if size != n:
                if size != 1:
                    raise ValueError(f"{list(old)} cannot be broadcast to {list(shape)}")
                step = 0
        elif n != 1:
            step = 0
        strides.append(step)
        step *= n
    strides.reverse()
    return restride(x, shape, tuple(strides))


@engine.kernel
def expand_dims(x, axis):
    shape = x.shape
    if x.flags.c_contiguous and 1 not in shape:
        return x.reshape((*shape[:axis], 1, *shape[axis:]))
    strides = x.strides
    step = shape[axis] * strides[axis] if axis < len(shape) else x.itemsize
    return restride(x, (*shape[:axis], 1, *shape[axis:]), (*strides[:axis], step, *strides[axis:]))


@engine.kernel
def diagonal(x, offset, axis1, axis2):
    out = x.diagonal(offset, axis1, axis2)
    if x.flags.writeable:
        out.setflags(write=True)
    return out


@engine.kernel
def windows(x, axis, size, step):
    """Each window of `size` along `axis`, `step` apart, as a new last dimension."""
    if x.ndim == 0:
        return restride(x, (size,), (x.itemsize,))
    shape, strides = list(x.shape), list(x.strides)
    stride = strides[axis]
    shape[axis] = (shape[axis] - size) // step + 1
    strides[axis] = stride * step
    return restride(x, (*shape, size), (*strides, stride))


@engine.kernel
def fold_windows(g, shape, axis, size, step):
    """Sums windows at their original places: the transpose of ``windows``."""
    out = np.zeros(shape, g.dtype)
    if not shape:
        return out + g.sum() if size else out
    lead = (slice(None),) * axis
    reach = (g.shape[axis] - 1) * step + 1
    for i in range(size):
        out[(*lead, slice(i, i + reach, step))] += g[..., i]
    return out


@engine.kernel
def view_as_real(x):
    part = x.real.dtype
    return restride(x, (*x.shape, 2), (*x.strides, part.itemsize), dtype=part)


@engine.kernel
def view_as_complex(x):
    pair, shape, strides = 2 * x.itemsize, x.shape[:-1], x.strides[:-1]
    odd = x.strides[-1] != x.itemsize or any([s % pair for n, s in zip(shape, strides, strict=True) if n != 1])
    if odd and x.size:  # NumPy does not define the strides of empty arrays
        return as_complex(x)  # for gradients; the public function rejects such tensors
    dtype = np.dtype(np.complex64 if x.dtype == np.float32 else np.complex128)
    return restride(x, shape, tuple([s // pair * pair for s in strides]), dtype=dtype)


@engine.kernel
def as_complex(x):
    """The complex numbers whose real and imaginary parts are pairs in the last dimension."""
    out = np.empty(x.shape[:-1], np.result_type(x.dtype, np.complex64))
    out.real, out.imag = x[..., 0], x[..., 1]
    return out


@engine.kernel
def view_dtype(x, dtype):
    return x.view(dtype)


# ---- view


@engine.kernel
def reshape(x, shape):
    return x.reshape(shape)


@engine.kernel
def reshape_view(x, shape):
    """A view of x in another shape; raises if there is none."""
    if (x.flags.c_contiguous and 1 not in x.shape) or x.size == 0:
        return x.reshape(shape)
    if x.size != math.prod(shape):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {x.size}")
    old = element_strides(x)
    strides = view_strides(x.shape, old, shape)
    if strides is None:
        raise RuntimeError(NOT_VIEWABLE.format(old=list(x.shape), strides=list(old), new=list(shape)))
    return restride(x, shape, tuple([s * x.itemsize for s in strides]))


@engine.kernel
def view_contiguous(x, shape):
    """A view of contiguous x in another shape, one size of which may be -1; None for other cases."""
    if not x.flags.c_contiguous or 1 in x.shape:
        return None
    try:
        out = x.reshape(shape)
        return out if out.shape == shape or min(shape) >= -1 else None
    except (TypeError, ValueError):
        return None


# ---- adjoints of views


@engine.kernel
def embed(g, key, shape):
    """Zeros of `shape` with g at the basic index `key`."""
    out = np.zeros(shape, g.dtype)
    out[key] = g
    return out


@engine.kernel
def embed_view(g, view_of, shape):
    """Zeros of `shape` with g in the view that `view_of` returns."""
    out = np.zeros(shape, g.dtype)
    view_of(out)[...] = g
    return out


@engine.kernel
def put_key(x, key, value):
    """A copy of x with `value` at a basic key."""
    out = np.array(x, order="C", copy=True)
    out[key] = value
    return out


@engine.kernel
def put_view(base, view_of, value):
    """A copy of `base` with `value` in the view that `view_of` returns."""
    out = np.array(base, order="C", copy=True)
    view_of(out)[...] = value
    return out


# ---- as_strided on values: strides and an offset give the place of each element in the storage


def places(shape, strides, offset):
    """The storage offset of each element."""
    out = np.full(shape, offset, np.intp)
    for axis, (n, step) in enumerate(zip(shape, strides)):
        out += (np.arange(n) * step).reshape(-1, *(1,) * (len(shape) - 1 - axis))
    return out


@engine.kernel
def move_strided(x, strides, offset, to_shape, to_strides, to_offset, *, shared):
    """Stores the elements of x in a storage by one layout, and reads them by another.

    Elements that coincide are summed, and divided by the number of those that coincide in the layout `shared` ("from"
    or "to").
    """
    storage = np.zeros(max(extent(x.shape, strides, offset), extent(to_shape, to_strides, to_offset)), x.dtype)
    item = x.itemsize
    if overlaps(x.shape, strides):
        np.add.at(storage, places(x.shape, strides, offset), x)
    elif x.size:
        restride(storage, x.shape, tuple(s * item for s in strides), offset * item)[...] = x
    counted = (x.shape, strides, offset) if shared == "from" else (to_shape, to_strides, to_offset)
    if overlaps(*counted[:2]):
        count = np.bincount(places(*counted).reshape(-1), minlength=storage.size)
        storage = (storage / np.maximum(count, 1)).astype(x.dtype)
    if 0 in to_shape:
        return np.zeros(to_shape, x.dtype)
    return restride(storage, tuple(to_shape), tuple(s * item for s in to_strides), to_offset * item)
