"""Ops that order elements along a dimension. NaN counts as larger than every number."""

from ._op import kernel_op, op
from .pointwise import without_derivative
from .reduce import place, selection, to_ties


def declare_sorting(forward):
    """Declares an op that returns values and indices along ``axis``, each index at most once."""
    spec = op(forward, opmath=True, refuses="c", row_major=True)
    spec.vjp(x=lambda g, out_1, axis, x_shape: place(g[0], out_1, axis=axis, shape=tuple(x_shape)))
    return spec


@declare_sorting
def sort(k, x, *, axis, descending, stable):
    order = k.sorting_order(x, axis, descending, stable)
    return k.take_along(x, order, axis), order


@declare_sorting
def topk(k, x, *, axis, count, largest, sorted):
    order = k.top_order(x, count, axis, largest, sorted)
    return k.take_along(x, order, axis), order


argsort = kernel_op("argsort", "sorting_order", inputs="x", settings="axis, descending, stable", opmath=True,
                    refuses="c", row_major=True)


@selection(refuses="bc")
def kthvalue(k, x, *, axis, keepdims, kth):
    return k.select_ranked(x, kth - 1, axis, keepdims)


@selection(node="MedianBackward1", refuses="bc")
def median_dim(k, x, *, axis, keepdims):
    return k.select_median(x, axis, keepdims, False)


@selection(node="NanmedianBackward1", refuses="bc")
def nanmedian_dim(k, x, *, axis, keepdims):
    return k.select_median(x, axis, keepdims, True)


@selection(refuses="c")
def mode(k, x, *, axis, keepdims):
    return k.select_mode(x, axis, keepdims)


@op(opmath=True, refuses="bc")
def median(k, x):
    """The lower median of all elements; elements that equal it share the gradient."""
    return k.select_median(x.reshape(-1), 0, False, False)[0]


@op(opmath=True, refuses="bc")
def nanmedian(k, x):
    return k.select_median(x.reshape(-1), 0, False, True)[0]


for spec in (median, nanmedian):
    spec.vjp(x=lambda g, x, out: to_ties(g, x, out, None))


@op(opmath=True, refuses="c", row_major=True)
def unique2(k, x):
    """The distinct elements in order, the index of each element among them, and their counts."""
    return k.distinct(x, None)


unique_dim = kernel_op("unique_dim", "distinct", inputs="x", settings="axis", opmath=True, refuses="c", row_major=True)

# ``unique2`` of the elements or slices that differ from their predecessor.
unique_consecutive = kernel_op("unique_consecutive", "distinct_runs", inputs="x", settings="axis", opmath=True,
                               refuses="c", row_major=True)

unique2.vjp(x=without_derivative("_unique2"))
unique_dim.vjp(x=without_derivative("unique_dim"))
unique_consecutive.vjp(x=without_derivative("unique_consecutive"))


@op(row_major=True)
def searchsorted(k, boundaries, values, sorter, *, right, dtype):
    """The index of each value in its row of sorted boundaries."""
    if sorter is not None:
        boundaries = k.take_along(boundaries, sorter, boundaries.ndim - 1)
    return k.search_rows(boundaries, values, "right" if right else "left").astype(dtype)
