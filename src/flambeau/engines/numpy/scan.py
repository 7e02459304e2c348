"""Kernels that run along a dimension."""

import numpy as np

from ..._dtypes import HALF
from .. import NUMPY as engine

_WIDER = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}


@engine.kernel
def cumsum(x, axis, dtype=None):
    return _accumulate(np.add, x, axis, dtype or x.dtype)


@engine.kernel
def cumprod(x, axis, dtype=None):
    return _accumulate(np.multiply, x, axis, dtype or x.dtype)


def _accumulate(ufunc, x, axis, dtype):
    """Running results in `dtype`: booleans count as integers, half precision runs in float32, and float32 in float64,
    which keeps rounding errors of long runs small."""
    wide = np.float32 if dtype in HALF else _WIDER.get(dtype)
    if wide is not None:
        return ufunc.accumulate(x.astype(wide), axis).astype(dtype)
    return ufunc.accumulate(x, axis, np.int64 if dtype == np.bool_ else dtype)


@engine.kernel
def running_max(x, axis):
    """The running maximum, and the index of its last occurrence."""
    return _with_indices(np.maximum.accumulate(x, axis), x, axis)


@engine.kernel
def running_min(x, axis):
    return _with_indices(np.minimum.accumulate(x, axis), x, axis)


def _with_indices(values, x, axis):
    """(running extremes of x, the indices of their last occurrences)."""
    hit = (x == values) | (x != x)
    places = np.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return values, np.maximum.accumulate(np.where(hit, places, 0), axis)


@engine.kernel
def log_running_sum(x, axis):
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x.astype(np.float64, copy=False), axis).astype(x.dtype, copy=False)
    out = np.array(x)
    lane = np.moveaxis(out, axis, 0)
    for i in range(1, len(lane)):
        swap = lane[i].real > lane[i - 1].real
        high, low = np.where(swap, lane[i], lane[i - 1]), np.where(swap, lane[i - 1], lane[i])
        lane[i] = np.log1p(np.exp(low - high)) + high
    return out
