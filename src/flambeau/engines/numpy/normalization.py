"""Normalization by mean and variance."""

import math

import numpy as np

from ..._fp_errors import ignore_fp_errors
from .. import NUMPY as engine
from .._formulas import NORMALIZATION, define

define(engine, *NORMALIZATION)


def mean_over(x, axes):
    """The mean over axes, with keepdims; the last axes first, which are adjacent in memory."""
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
    hardly_differ = var < 1e-4 * mean * mean
    if hardly_differ.any():  # the last digit of their mean matters
        mean = np.where(hardly_differ, mean + mean_over(y, axes), mean)
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
def normalize_pull(g, x, weight, axes, mean, var, g_mean, g_var, eps):
    """The gradients of x, weight and bias under ``normalize``, from those of its three results."""
    return pull_results(g, x, weight, axes, mean, 1 / np.sqrt(var + x.dtype.type(eps)), g_mean, g_var)


def pull_results(g, x, weight, axes, mean, inv, g_mean, g_var):
    """The gradients, for arrays of any engine; `inv` is the factor of the deviations.

    Sums over the axes that the weight lacks come first: all three gradients need them.
    """
    away = x - mean
    wide = mean.shape if weight is None else (*[1] * (x.ndim - weight.ndim), *weight.shape)
    inner = tuple([a for a in axes if wide[a] == 1])
    outer = tuple([a for a in axes if wide[a] != 1])
    g_sum, g_away = g.sum(inner, keepdims=True), (g * away).sum(inner, keepdims=True)
    g_weight, g_bias = g_away * inv, g_sum
    direct = inv
    if weight is not None:
        seen = tuple([a for a in range(x.ndim) if wide[a] == 1])
        g_weight, g_bias = (p.sum(seen, keepdims=True).reshape(weight.shape) for p in (g_weight, g_bias))
        g_sum, g_away, direct = g_sum * weight, g_away * weight, weight * inv
    n = max(math.prod([x.shape[a] for a in axes]), 1)
    slope = (2 * g_var - g_away.sum(outer, keepdims=True) * inv * inv * inv) / n
    level = (g_mean - g_sum.sum(outer, keepdims=True) * inv) / n
    return g * direct + (away * slope + level), g_weight, g_bias


@engine.kernel
def move_average(into, value, decay, weight):
    """Stores ``into * decay + value * weight`` in the memory of `into`, which has as many elements as the value."""
    with ignore_fp_errors():
        into[...] = into * decay + value.reshape(into.shape) * weight
    return into
