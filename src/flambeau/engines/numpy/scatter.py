"""Reading and writing along one axis, each element by an index of its own."""

import functools

import numpy as np

from ..._dtypes import HALF
from .. import NUMPY as engine
from .index import check_bounds, index_add

COMBINE = {"add": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@engine.kernel
def gather(x, index, axis):
    if not index.size:
        return np.empty(index.shape, x.dtype)
    check_bounds(index, x.shape[axis], axis, RuntimeError)
    if x.flags.c_contiguous:
        return x.reshape(-1).take(flat_positions(index, x.shape, axis))
    key = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    key[axis] = index
    return x[tuple(key)]


@engine.kernel
def scatter(x, index, src, axis, how=None, into=False):
    """x with `src` stored at `index`; with `how`, combined with the existing elements."""
    if not index.size:
        return x if into else np.array(x)
    many = getattr(src, "ndim", 0)
    if how != "add" or not many:  # scatter_add checks the indices itself
        check_bounds(index, x.shape[axis], axis, RuntimeError)
    out = x if into else np.array(x)
    if many:
        if how == "add" and same_along_others(index, src.shape, x.shape, axis):
            row = index[tuple(slice(None) if d == axis else 0 for d in range(x.ndim))]
            return index_add(out, row, src, axis, 1, into=True)
        src = src[tuple(slice(n) for n in index.shape)]
    target = out
    if how is not None and out.dtype in HALF:
        target = out.astype(np.float32, order="C")
    elif not out.flags.c_contiguous:
        target = np.ascontiguousarray(out)
    if how == "add" and many:
        engine.scatter_add(target, index, src.astype(target.dtype, copy=False), axis)
    else:
        flat, src = target.reshape(-1), np.asarray(src).reshape(-1)
        places = flat_positions(index, x.shape, axis).reshape(-1)
        if how is None:
            flat[places] = src
        else:
            COMBINE[how].at(flat, places, src.astype(flat.dtype, copy=False))
    if target is not out:
        out[...] = target.astype(out.dtype, copy=False)
    return out


@engine.kernel
def scatter_add(out, index, values, axis):
    """Adds each value to the element of `out`, a contiguous array, at its index along the axis."""
    check_bounds(index, out.shape[axis], axis, RuntimeError)
    np.add.at(out.reshape(-1), flat_positions(index, out.shape, axis).reshape(-1), values.reshape(-1))


def same_along_others(index, src_shape, shape, axis):
    """Whether `index` is one vector along `axis`, expanded over all other dimensions."""
    return len(shape) > 1 and index.shape == src_shape and all(
        d == axis or (n == m and (n == 1 or step == 0))
        for d, (n, m, step) in enumerate(zip(index.shape, shape, index.strides, strict=True))
    )


def flat_positions(index, shape, axis):
    """The flat positions, in a contiguous array of `shape`, of the elements at `index` along `axis`."""
    stride, places = (small_offsets if index.size <= SMALL else offsets)(index.shape, shape, axis)
    scaled = index if stride == 1 else index * np.int64(stride)
    return scaled if places is None else scaled + places


def offsets(index_shape, shape, axis):
    """The stride of `axis` in elements, and the offset of each element by its other dimensions (None: zero)."""
    step, places = 1, None
    for d in reversed(range(len(shape))):
        n = index_shape[d]
        if d == axis:
            stride = step
        elif n > 1:
            along = np.arange(0, n * step, step).reshape((-1,) + (1,) * (len(shape) - 1 - d))
            places = along if places is None else places + along
        step *= shape[d]
    return stride, places


SMALL = 4096  # elements up to which offsets are cached
small_offsets = functools.lru_cache(maxsize=64)(offsets)
