"""Kernels that order elements along a dimension. As in NumPy, NaN sorts after every number."""

import numpy as np

from ..._dtypes import HALF
from .. import NUMPY as engine
from .reduce import take_along

_MANY = 256  # elements from which equal ones may be reordered for speed, if allowed


@engine.kernel
def sorting_order(x, axis, descending, stable):
    """The indices that sort x; with `stable`, equal elements keep their order, also in descending order."""
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not stable and x.shape[axis] >= _MANY and x.dtype.itemsize >= 4:
        order = x.argsort(axis)
        return _reverse(order, axis) if descending else order
    if not descending:
        return x.argsort(axis, "stable")
    order = _reverse(_reverse(x, axis).argsort(axis, "stable"), axis)
    return np.subtract(x.shape[axis] - 1, order)


def _reverse(x, axis):
    return x[(slice(None),) * axis + (slice(None, None, -1),)]


@engine.kernel
def top_order(x, count, axis, largest, sorted):
    """The indices of the `count` largest (or smallest) elements."""
    n = x.shape[axis]
    if count == 0 or count > n // 4:
        return _part(sorting_order(x, axis, largest, False), axis, 0, count)
    if largest:
        found = _part(np.argpartition(x, n - count, axis), axis, n - count, n)
    else:
        found = _part(np.argpartition(x, count - 1, axis), axis, 0, count)
    if not sorted:
        return found
    found = np.sort(found, axis)
    return take_along(found, sorting_order(take_along(x, found, axis), axis, largest, True), axis)


def _part(x, axis, start, stop):
    return x[(slice(None),) * axis + (slice(start, stop),)]


@engine.kernel
def select_ranked(x, rank, axis, keepdims):
    """The element of a given rank, and its index: for ties the one that NumPy finds for 32-bit integers."""
    keys = x.astype(np.int32) if x.dtype.kind in "iu" and x.dtype.itemsize < 4 else x
    order = keys.argpartition(rank, axis)
    if x.ndim == 1:
        index = order[rank:rank + 1]
        return (x[index], index) if keepdims else (x[order[rank]], order[rank])
    index = _part(order, axis, rank, rank + 1).copy()  # row-major, for the readers
    return _select(x, index, axis, keepdims)


def _select(x, index, axis, keepdims):
    values = take_along(x, index, axis)
    return (values, index) if keepdims else (values.squeeze(axis), index.squeeze(axis))


def nan_as_integer(dtype):
    """The result of C's conversion of NaN: the lowest integer of at least 32 bits, truncated to the dtype."""
    return np.iinfo(dtype).min if dtype.itemsize >= 4 else 0


@engine.kernel
def select_median(x, axis, keepdims, ignore_nan):
    """The lower median. NaN propagates, unless it is ignored."""
    n = x.shape[axis]
    if n == 0:
        shape = tuple(1 if i == axis else m for i, m in enumerate(x.shape) if keepdims or i != axis)
        nothing = np.nan if x.dtype.kind == "f" else nan_as_integer(x.dtype)
        return np.full(shape, nothing, x.dtype), np.zeros(shape, np.int64)
    is_number = x == x
    if is_number.all():
        return select_ranked(x, (n - 1) // 2, axis, keepdims)
    numbers = np.add.reduce(is_number, axis, np.int64, None, True)
    order = np.argsort(x, axis)
    if ignore_nan:
        rank = np.maximum(numbers - 1, 0) // 2
    else:
        rank = np.where(numbers == n, (n - 1) // 2, np.minimum(numbers, n - 1))
    return _select(x, np.take_along_axis(order, rank, axis), axis, keepdims)


@engine.kernel
def select_mode(x, axis, keepdims):
    """The most frequent element, the smallest of them where there are several, and where it comes last."""
    order = np.argsort(x, axis, kind="stable")
    values = take_along(x, order, axis)
    n = x.shape[axis]
    starts = np.ones(x.shape, bool)
    rest = (slice(None),) * axis + (slice(1, None),)
    starts[rest] = values[rest] != _part(values, axis, 0, n - 1)
    place = np.arange(n).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    length = place - np.maximum.accumulate(np.where(starts, place, 0), axis)  # length of the current run, minus one
    last = np.argmax(length, axis, keepdims=True)
    return _select(x, np.take_along_axis(order, last, axis), axis, keepdims)


@engine.kernel
def search_rows(boundaries, values, side):
    """np.searchsorted for each row of `boundaries`; one row serves all values."""
    if boundaries.dtype in HALF:
        boundaries, values = boundaries.astype(np.float32), values.astype(np.float32)
    if boundaries.ndim == 1:
        return _search(boundaries, values, side)
    out = np.empty(values.shape, np.int64)
    for row in np.ndindex(boundaries.shape[:-1]):
        out[row] = _search(boundaries[row], values[row], side)
    return out


def _search(boundaries, values, side):
    """np.searchsorted, but with NaN, also among the boundaries, after everything."""
    if boundaries.dtype.kind == "f" and np.isnan(boundaries).any():
        return _bisect(boundaries, values, side)
    return np.searchsorted(boundaries, values, side)


def _bisect(boundaries, values, side):
    """Halves the range of positions for each value until one is left; comparisons with nan continue to the right."""
    first, last = np.zeros(values.shape, np.int64), np.full(values.shape, boundaries.size, np.int64)
    stops = np.greater_equal if side == "left" else np.greater
    while (open := first < last).any():
        middle = (first + last) // 2
        stop = stops(boundaries[np.minimum(middle, boundaries.size - 1)], values)
        last = np.where(open & stop, middle, last)
        first = np.where(open & ~stop, middle + 1, first)
    return first


@engine.kernel
def distinct(x, axis):
    """The distinct elements (or slices) in order, the index of each element among them, and their counts."""
    values, _, inverse, counts = np.unique(x, True, True, True, axis, equal_nan=False)
    return values, inverse.reshape(x.shape if axis is None else -1).astype(np.int64, copy=False), counts


@engine.kernel
def distinct_runs(x, axis):
    """``distinct``, for elements (or slices) that differ from their predecessor."""
    lanes = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    n = len(lanes)
    new = np.ones(n, bool)
    new[1:] = (lanes[1:] != lanes[:-1]).reshape(n - 1, -1).any(1) if n > 1 else True
    starts = np.flatnonzero(new)
    values = lanes[starts] if axis is None else np.moveaxis(lanes[starts], 0, axis)
    inverse = np.cumsum(new) - 1
    counts = np.diff(np.append(starts, n)) if n else np.zeros(0, np.int64)
    return values, inverse.reshape(x.shape) if axis is None else inverse, counts
