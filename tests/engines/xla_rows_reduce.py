"""Reductions, scans, sorting, softmax, norms."""

import math

import numpy as np

from engines.xla_row import C, P, R, V, row, rows

SPARSE = V([[1.0, 0.0, 3.0], [0.0, 0.0, 2.0], [-1.0, 4.0, 0.5]])
TIES = V([[1.0, 3.0, 3.0], [-2.0, -2.0, 0.0], [5.0, 4.0, 4.0]])
HOLES = V([[1.0, math.nan, 3.0, 2.0], [0.5, -1.0, 2.0, math.nan]])
COUNTS = V([[3, 1, 2], [0, 5, 5]])
WHOLE = {"axis": None, "keepdims": False}
DIM = {"axis": 1, "keepdims": False}
KEPT = {"axis": (0, 2), "keepdims": True}

REDUCTIONS = [
    row("whole_sum", R(2, 3)), row("whole_sum", C(2, 3)), row("whole_sum", COUNTS),
    *rows("sum mean prod amax amin max min nansum", R(2, 3), **WHOLE),
    *rows("sum mean nansum amax amin", R(2, 3, 4), **KEPT),
    *rows("sum mean prod", C(2, 3), **WHOLE),
    *rows("sum prod amax max", COUNTS, **WHOLE),
    *rows("sum mean", COUNTS, dtype=np.dtype(np.float64), **WHOLE),
    *rows("amax amin aminmax max_dim min_dim", TIES, **DIM),
    *rows("amax max amin", HOLES, **WHOLE),
    *rows("max_dim min_dim aminmax", R(2, 3, 4), axis=1, keepdims=True),
    row("aminmax", R(2, 3), **WHOLE),
    row("nansum", HOLES, **DIM),
    row("prod", SPARSE, **DIM),
    row("prod", C(2, 3), axis=0, keepdims=True),
    row("prod", SPARSE, **WHOLE),
    row("prod", R(), **WHOLE),
    row("shift", R(2, 3), axis=1, by=1, fill=1),
    row("shift", R(2, 3), axis=0, by=-1, fill=0),
    *rows("var std var_mean std_mean", R(2, 3, 4), correction=1, **KEPT),
    *rows("var std var_mean std_mean", R(2, 3), correction=0, **WHOLE),
    row("var", C(2, 3), correction=1, **DIM),
    row("over", R(2, 3), V([0.0, 1.0, 2.0])),
    *rows("all any", COUNTS, **WHOLE),
    *rows("all any", SPARSE, **DIM),
    *rows("argmax argmin", TIES, **DIM),
    *rows("argmax argmin", R(2, 3), **WHOLE),
    row("count_nonzero", SPARSE, axis=None),
    row("ties", TIES, V([[3.0], [-2.0], [5.0]]), axis=1),
    row("equals", TIES, V([[3.0], [-2.0], [5.0]]), axis=1),
    row("place", R(2, 2), V([[0, 2], [1, 0]]), axis=1, shape=(2, 3)),
    # scans
    *rows("cumsum cumprod logcumsumexp", R(2, 3), axis=1, reverse=False),
    *rows("cumsum cumprod logcumsumexp", R(2, 3), axis=0, reverse=True),
    *rows("cumsum cumprod logcumsumexp", R(), axis=0, reverse=False),
    row("cumprod", SPARSE, axis=1, reverse=False),
    row("cumprod", C(2, 3), axis=1, reverse=False),
    row("cumsum", COUNTS, axis=1, reverse=False, dtype=np.dtype(np.float64)),
    row("nth_zero", SPARSE, axis=1, reverse=False, nth=1),
    *rows("cummax cummin", TIES, axis=1),
    *rows("cummax cummin", HOLES, axis=1),
    # order
    row("sort", R(2, 5), axis=1, descending=False, stable=False),
    row("sort", TIES, axis=0, descending=True, stable=True),
    row("sort", HOLES, axis=1, descending=True, stable=True),
    row("sort", HOLES, axis=1, descending=False, stable=True),
    row("argsort", TIES, axis=1, descending=False, stable=True),
    row("argsort", TIES, axis=1, descending=True, stable=True),
    row("topk", R(2, 5), axis=1, count=3, largest=True, sorted=True),
    row("topk", R(2, 5), axis=1, count=2, largest=False, sorted=True),
    row("topk", HOLES, axis=1, count=2, largest=True, sorted=True),
    row("kthvalue", R(2, 5), kth=2, **DIM),
    *rows("median_dim nanmedian_dim", R(2, 5), **DIM),
    *rows("median_dim nanmedian_dim", HOLES, axis=1, keepdims=True),
    *rows("median nanmedian", R(2, 5)),
    *rows("median nanmedian", HOLES),
    row("mode", TIES, **DIM),
    row("searchsorted", V([1.0, 2.0, 3.0]), R(2, 3), None, right=False, dtype=np.dtype(np.int64)),
    row("searchsorted", V([[1, 3, 5], [2, 4, 6]]), V([[3], [6]]), None, right=True, dtype=np.dtype(np.int32)),
    row("searchsorted", V([3, 1, 2]), V([2, 0]), V([1, 2, 0]), right=False, dtype=np.dtype(np.int64)),
    # softmax
    *rows("logsumexp", R(2, 3), **DIM),
    *rows("logsumexp", V([[-math.inf, -math.inf], [1.0, 2.0]]), axis=(1,), keepdims=True),
    row("finite", V([1.0, math.inf, -math.inf])),
    *rows("softmax log_softmax", R(2, 3), axis=1),
    *rows("softmax log_softmax", R(2, 3, 2), axis=1),
    row("softmax_pull", R(2, 3), P(2, 3), axis=1),
    row("log_softmax_pull", R(2, 3), R(2, 3), axis=1),
    # norms
    *[row("vector_norm", R(2, 3), ord=p, **DIM) for p in (0, 1, 1.5, 2, 3, math.inf, -math.inf)],
    *[row("vector_norm", SPARSE, ord=p, **WHOLE) for p in (0.5, 1, 2, math.inf)],
    row("vector_norm", C(2, 3), ord=2, **WHOLE),
    row("largest_difference", R(2, 3), axis=1),
    *[row("norm_of_all", R(2, 3), R(1), R(4), ord=p) for p in (1.0, 2.0, math.inf)],
    row("euclidean_distances", R(2, 3), R(4, 3)),
    row("euclidean_distances", R(2, 4, 3), R(2, 5, 3)),
]
