"""Rules of the meta engine for layer kernels whose result sizes follow from their settings."""

import math

import numpy as np

from . import NUMPY
from ._formulas import ACTIVATIONS, ARITHMETIC, DISTANCES, NORMALIZATION, define
from .meta import MetaArray, meta
from .numpy.conv import out_sizes

_INDEX = np.dtype(np.int64)


@meta.kernel
def conv(x, weight, stride, padding, dilation, groups, out=None, bias=None):
    out = out or out_sizes(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    return MetaArray((x.shape[0], weight.shape[0], *out), np.result_type(x.dtype, weight.dtype))


@meta.kernel
def conv_input(g, weight, spatial, stride, padding, dilation, groups, bias=None):
    return MetaArray((g.shape[0], weight.shape[1] * groups, *spatial), np.result_type(g.dtype, weight.dtype))


@meta.kernel
def conv_weight(x, g, kernel, stride, padding, dilation, groups):
    return MetaArray((g.shape[1], x.shape[1] // groups, *kernel), np.result_type(x.dtype, g.dtype))


@meta.kernel
def max_pool(x, kernel, stride, padding, dilation, out):
    shape = (*x.shape[: x.ndim - len(out)], *out)
    return MetaArray(shape, x.dtype), MetaArray(shape, _INDEX)


@meta.kernel
def window_sum(x, kernel, stride, padding, out):
    return MetaArray((*x.shape[: x.ndim - len(out)], *out), x.dtype)


@meta.kernel
def window_spread(g, kernel, stride, padding, spatial):
    return MetaArray((*g.shape[: g.ndim - len(spatial)], *spatial), g.dtype)


@meta.kernel
def ranges_mean(x, ranges):
    return MetaArray((*x.shape[: x.ndim - len(ranges)], *map(len, ranges)), x.dtype)


@meta.kernel
def ranges_spread(g, ranges, spatial):
    return MetaArray((*g.shape[: g.ndim - len(spatial)], *spatial), g.dtype)


@meta.kernel
def ranges_max(x, ranges):
    shape = (*x.shape[: x.ndim - len(ranges)], *map(len, ranges))
    return MetaArray(shape, x.dtype), MetaArray(shape, _INDEX)


@meta.kernel
def normalize(x, weight, bias, axes, eps):
    shape = tuple([1 if axis in axes else n for axis, n in enumerate(x.shape)])
    return x.copy(), MetaArray(shape, x.dtype), MetaArray(shape, x.dtype)


@meta.kernel
def scale_shift(x, scale, shift):
    return x.copy()


@meta.kernel
def class_targets(target, ignore, classes):
    return MetaArray(target.shape, np.dtype(bool)), target.copy()


@meta.kernel
def probabilities(x):
    return x


@meta.kernel
def put_along(g, index, axis, shape):
    return MetaArray(tuple(shape), g.dtype)


@meta.kernel
def relu(x):
    return x.copy()


@meta.kernel
def keep(x, mask):
    return MetaArray(np.broadcast_shapes(x.shape, mask.shape), x.dtype)


def _same_shape(formula):
    """The rule for a kernel whose result has the shape and dtype of its first array."""

    def kernel(x, *rest):
        return x.copy()

    kernel.__name__ = formula.__name__
    return kernel


for formula in ACTIVATIONS:
    meta.kernel(_same_shape(formula))
define(meta, *ARITHMETIC)
define(meta, *DISTANCES)
define(meta, *NORMALIZATION)


@meta.kernel
def normalize_pull(g, x, weight, axes, mean, var, g_mean, g_var, eps):
    of_weight = MetaArray(mean.shape if weight is None else weight.shape, x.dtype)
    return x.copy(), of_weight, of_weight.copy()


@meta.kernel
def scan(body, weights, carry, xs, reverse):
    """All time steps have the shapes of the first."""
    first = xs
    while isinstance(first, tuple):
        first = first[0]
    carry, y = NUMPY.scan(body, weights, carry, _first_step(xs), reverse)
    return carry, _for_times(y, first.shape[0])


def _first_step(xs):
    return tuple(map(_first_step, xs)) if isinstance(xs, tuple) else None if xs is None else xs[:1]


def _for_times(y, times):
    if isinstance(y, tuple):
        return tuple([_for_times(part, times) for part in y])
    return MetaArray((times, *y.shape[1:]), y.dtype)


@meta.kernel
def resample(x, tables):
    sizes = [n if table is None else table.index.shape[1] for n, table in zip(x.shape[-len(tables):], tables)]
    return MetaArray((*x.shape[: x.ndim - len(tables)], *sizes), x.dtype)


@meta.kernel
def sum_places(x, index, weights):
    return MetaArray((*x.shape[:2], index.shape[2]), x.dtype)


@meta.kernel
def spread_places(g, index, weights, size):
    return MetaArray((*g.shape[:2], size), g.dtype)


@meta.kernel
def dot_places(g, x, index):
    return MetaArray(index.shape, x.dtype)


@meta.kernel
def im2col(x, kernel, dilation, padding, stride):
    out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    return MetaArray((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)), x.dtype)


@meta.kernel
def col2im(columns, sizes, kernel, dilation, padding, stride):
    return MetaArray((columns.shape[0], columns.shape[1] // math.prod(kernel), *sizes), columns.dtype)
