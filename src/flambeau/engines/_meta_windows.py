"""Rules of the meta engine for convolutions and pools, whose result sizes their settings say."""

from __future__ import annotations

import numpy as np

from .meta import MetaArray, meta

_INDEX = np.dtype(np.int64)


@meta.kernel
def conv(x, weight, stride, padding, dilation, groups):
    spatial = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    ]
    return MetaArray((x.shape[0], weight.shape[0], *spatial), np.result_type(x.dtype, weight.dtype))


@meta.kernel
def conv_input(g, weight, spatial, stride, padding, dilation, groups):
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
