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
