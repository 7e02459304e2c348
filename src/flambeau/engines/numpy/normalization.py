"""Normalisation by mean and variance."""

from __future__ import annotations

import math

import numpy as np

from .. import NUMPY as engine


def mean_over(x, axes):
    """The mean over axes, kept as ones; the last ones first, which are next to each other in memory."""
    total, left = x, list(axes)
    while left:
        run = [left.pop()]
        while left and left[-1] == run[0] - 1:
            run.insert(0, left.pop())
        total = np.add.reduce(total, axis=tuple(run), keepdims=True)
    return total / math.prod([x.shape[a] for a in axes])


@engine.kernel
def normalize(x, weight, bias, axes, eps):
    """(x - mean) / sqrt(var + eps) * weight + bias, with the mean and the variance over axes."""
    mean = mean_over(x, axes)
    y = x - mean
    var = mean_over(y * y, axes)
    scale = 1 / np.sqrt(var + x.dtype.type(eps))
    if weight is not None:
        joint = math.prod(np.broadcast_shapes(scale.shape, weight.shape))
        if joint * 2 <= y.size:
            scale = scale * weight
        else:
            y *= scale
            scale = weight
    y *= scale
    if bias is not None:
        y += bias
    return y, mean, var


@engine.kernel
def scale_shift(x, scale, shift):
    """x * scale + shift."""
    y = x * scale
    y += shift
    return y


@engine.kernel
def layer_norm_pull(g, x, weight, axes, mean, var, g_mean, g_var, eps):
    """The gradients of x, weight and bias under `normalize` over the last axes, from those of its three results."""
    lead = tuple(range(x.ndim - len(axes)))
    n = max(math.prod([x.shape[a] for a in axes]), 1)
    away, inv = x - mean, 1 / np.sqrt(var + x.dtype.type(eps))
    direct = g if weight is None else g * weight
    level = (g_mean - direct.sum(axes, keepdims=True) * inv) / n
    slope = (2 * g_var - (direct * away).sum(axes, keepdims=True) * (inv * inv * inv)) / n
    return direct * inv + (away * slope + level), (g * (away * inv)).sum(lead), g.sum(lead)
