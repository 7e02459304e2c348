"""Segment reductions: over consecutive runs of given lengths along a dimension."""

import math

import numpy as np

from ..ops import scatter as ops
from ..ops._errors import refuse_kinds
from ..ops.pointwise import where
from ..ops.shape import basic_index, part
from ._args import dim_in_range, need_tensor, tensor_on
from ._results import rename_node
from ._types import typed

__all__ = ["segment_reduce"]

NO_SEGMENTS = "segment_reduce(): Either lengths or offsets must be defined."
NO_INDICES = "segment_reduce(): indices based reduction is not supported yet. Give lengths or offsets."
UNKNOWN = "reduce argument must be either sum, prod, mean, max or min, got {reduce}"
NOT_INTEGERS = "\"_segment_reduce_lengths_cpu_kernel1\" not implemented for '{dtype}'; segments are counted in integers"
WRONG_DIMS = (
    "segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}; and those before it to be "
    "data's: data of shape {data}, lengths of shape {lengths}"
)
NEGATIVE = "lengths contains negative value! got {lengths}"
DESCENDING = "segment_reduce(): Expected segment_length >= 0, but the offsets descend: {offsets}"
WRONG_SUM = (
    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) = {size} when not "
    "unsafe, but got {sums}"
)

REDUCTIONS = {  # name: (the reduction of scatter_reduce, the initial value of a segment)
    "sum": ("sum", 0.0), "mean": ("sum", 0.0), "prod": ("prod", 1.0),
    "max": ("amax", -math.inf), "min": ("amin", math.inf),
}


@typed(reduce=str)
def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Reduces each segment of `data` along ``axis`` by sum, mean, prod, max or min.

    Args:
        data: a floating tensor.
        reduce: the name of the reduction.
        lengths: the length of each segment. Its dimensions before the last are those of `data` before ``axis``.
        offsets: the start of each segment followed by the end of the last one; an alternative to `lengths`.
        unsafe: skips the checks of `lengths`.
        initial: the initial value of each segment; without it, the mean of an empty segment is NaN.
    """
    need_tensor(data, "segment_reduce", "data", 1)
    refuse_kinds("_segment_reduce_cpu", data._a, "bic")
    if reduce not in REDUCTIONS:
        raise RuntimeError(UNKNOWN.format(reduce=reduce))
    axis = dim_in_range(axis, data._a.ndim)
    bounds = read_bounds(data, lengths, indices, offsets, axis, unsafe)
    how, empty = REDUCTIONS[reduce]
    segments, counts = segments_of(bounds, data._a.shape[axis])
    count = counts.shape[-1]
    shape, inner = data._a.shape, (1,) * (data._a.ndim - axis - 1)
    base = np.full((*shape[:axis], count + 1, *shape[axis + 1:]), empty if initial is None else initial, data._a.dtype)
    index = tensor_on(np.broadcast_to(segments.reshape(*segments.shape, *inner), shape), data.device)
    out = ops.scatter_reduce(tensor_on(base, data.device), data, index, axis=axis, reduce=how, include_self=True)
    out = basic_index(out, key=part(axis, 0, count))
    if reduce == "mean":
        counts = tensor_on(counts.reshape(*counts.shape, *inner).astype(data._a.dtype), data.device)
        nothing = out if initial is not None else tensor_on(np.array(math.nan, data._a.dtype), data.device)
        out = where(counts > 0, out / counts, nothing)
    return rename_node(out, "SegmentReduceBackward0")


def read_bounds(data, lengths, indices, offsets, axis, unsafe):
    """The bounds of each segment along the axis, as an array ``(..., count + 1)``."""
    if indices is not None:
        raise RuntimeError(NO_INDICES)
    if lengths is None and offsets is None:
        raise RuntimeError(NO_SEGMENTS)
    name, given = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    need_tensor(given, "segment_reduce", name, 3)
    a = given._a
    if a.dtype.kind not in "iu":
        raise NotImplementedError(NOT_INTEGERS.format(dtype=given.dtype))
    if not data._a.ndim or a.ndim != axis + 1 or a.shape[:-1] != data._a.shape[:axis]:
        raise RuntimeError(WRONG_DIMS.format(axis=axis, data=list(data.shape), lengths=list(a.shape)))
    if offsets is not None:
        if (np.diff(a, axis=-1) < 0).any():
            raise RuntimeError(DESCENDING.format(offsets=a.tolist()))
        return a
    sums, size = a.sum(-1), data._a.shape[axis]
    if not unsafe and (a < 0).any():
        raise RuntimeError(NEGATIVE.format(lengths=a.tolist()))
    if not unsafe and (sums != size).any():
        raise RuntimeError(WRONG_SUM.format(size=size, sums=sums.tolist()))
    return np.concatenate([np.zeros((*a.shape[:-1], 1), np.int64), np.cumsum(a, -1)], -1)


def segments_of(bounds, size):
    """The segment index of each of `size` positions, and the length of each segment.

    Positions outside every segment get an additional, last index.
    """
    rows, count = bounds.reshape(-1, bounds.shape[-1]), bounds.shape[-1] - 1
    places = np.arange(size)
    found = np.zeros((len(rows), size), np.int64)
    for i, row in enumerate(rows):
        found[i] = np.searchsorted(row, places, side="right") - 1
    found = np.where((found < 0) | (found >= count), count, found)
    lengths = np.diff(np.clip(rows, 0, size), axis=-1)
    return found.reshape(*bounds.shape[:-1], size), lengths.reshape(*bounds.shape[:-1], count)
