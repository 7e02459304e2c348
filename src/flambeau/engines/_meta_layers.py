"""Rules of the meta engine for layer kernels whose result sizes follow from their settings."""

import math

import numpy as np

from . import NUMPY
from ._meta_array import MetaArray
from .numpy.conv import out_sizes

_INDEX = np.dtype(np.int64)


class LayerKernels:
    """The kernels of layers, as methods of the meta engine."""

    def conv(self, x, weight, stride, padding, dilation, groups, out=None, bias=None):
        out = out or out_sizes(x.shape[2:], weight.shape[2:], stride, padding, dilation)
        return MetaArray((x.shape[0], weight.shape[0], *out), np.result_type(x.dtype, weight.dtype))

    def conv_input(self, g, weight, spatial, stride, padding, dilation, groups, bias=None):
        return MetaArray((g.shape[0], weight.shape[1] * groups, *spatial), np.result_type(g.dtype, weight.dtype))

    def conv_weight(self, x, g, kernel, stride, padding, dilation, groups):
        return MetaArray((g.shape[1], x.shape[1] // groups, *kernel), np.result_type(x.dtype, g.dtype))

    def max_pool(self, x, kernel, stride, padding, dilation, out):
        shape = (*x.shape[: x.ndim - len(out)], *out)
        return MetaArray(shape, x.dtype), MetaArray(shape, _INDEX)

    def window_sum(self, x, kernel, stride, padding, out):
        return MetaArray((*x.shape[: x.ndim - len(out)], *out), x.dtype)

    def window_spread(self, g, kernel, stride, padding, spatial):
        return MetaArray((*g.shape[: g.ndim - len(spatial)], *spatial), g.dtype)

    def ranges_mean(self, x, ranges):
        return MetaArray((*x.shape[: x.ndim - len(ranges)], *map(len, ranges)), x.dtype)

    def ranges_spread(self, g, ranges, spatial):
        return MetaArray((*g.shape[: g.ndim - len(spatial)], *spatial), g.dtype)

    def ranges_max(self, x, ranges):
        shape = (*x.shape[: x.ndim - len(ranges)], *map(len, ranges))
        return MetaArray(shape, x.dtype), MetaArray(shape, _INDEX)

    def normalize(self, x, weight, bias, axes, eps):
        shape = tuple([1 if axis in axes else n for axis, n in enumerate(x.shape)])
        return x.copy(), MetaArray(shape, x.dtype), MetaArray(shape, x.dtype)

    def scale_shift(self, x, scale, shift):
        return x.copy()

    def class_targets(self, target, ignore, classes):
        return MetaArray(target.shape, np.dtype(bool)), target.copy()

    def probabilities(self, x):
        return x

    def put_along(self, g, index, axis, shape):
        return MetaArray(tuple(shape), g.dtype)

    def relu(self, x):
        return x.copy()

    def keep(self, x, mask):
        return MetaArray(np.broadcast_shapes(x.shape, mask.shape), x.dtype)

    def normalize_pull(self, g, x, weight, axes, mean, var, g_mean, g_var, eps):
        of_weight = MetaArray(mean.shape if weight is None else weight.shape, x.dtype)
        return x.copy(), of_weight, of_weight.copy()

    def scan(self, body, weights, carry, xs, reverse):
        """All time steps have the shapes of the first."""
        first = xs
        while isinstance(first, tuple):
            first = first[0]
        carry, y = NUMPY.scan(body, weights, carry, _first_step(xs), reverse)
        return carry, _for_times(y, first.shape[0])

    def resample(self, x, tables):
        sizes = [n if table is None else table.index.shape[1] for n, table in zip(x.shape[-len(tables):], tables)]
        return MetaArray((*x.shape[: x.ndim - len(tables)], *sizes), x.dtype)

    def sum_places(self, x, index, weights):
        return MetaArray((*x.shape[:2], index.shape[2]), x.dtype)

    def spread_places(self, g, index, weights, size):
        return MetaArray((*g.shape[:2], size), g.dtype)

    def dot_places(self, g, x, index):
        return MetaArray(index.shape, x.dtype)

    def im2col(self, x, kernel, dilation, padding, stride):
        out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
        return MetaArray((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)), x.dtype)

    def col2im(self, columns, sizes, kernel, dilation, padding, stride):
        return MetaArray((columns.shape[0], columns.shape[1] // math.prod(kernel), *sizes), columns.dtype)


def same_shape(formula):
    """The rule for a kernel whose result has the shape and dtype of its first array."""

    def kernel(x, *rest):
        return x.copy()

    kernel.__name__ = formula.__name__
    return kernel


def _first_step(xs):
    return tuple(map(_first_step, xs)) if isinstance(xs, tuple) else None if xs is None else xs[:1]


def _for_times(y, times):
    if isinstance(y, tuple):
        return tuple([_for_times(part, times) for part in y])
    return MetaArray((times, *y.shape[1:]), y.dtype)
