"""Batching rules of convolutions.

If all samples of the vmap share the weight, they are folded into the batch of one convolution. Otherwise they become
groups of channels.
"""

from ...ops import conv as ops
from ...ops.pointwise import add
from ...ops.shape import reshape
from ..vmap import Batched, move_axis, with_batch_dim
from .classes import aligned, fold, unfold


def into_channels(x, size):
    """Folds the samples of the vmap into channels: ``(B, N, C, ...)`` to ``(N, B * C, ...)``."""
    n, channels, *rest = x.shape
    return reshape(move_axis(with_batch_dim(x, size), 0, 1), shape=(n, size * channels, *rest))


def out_of_channels(t, size):
    """The inverse of ``into_channels``."""
    n, channels, *rest = t._a.shape
    return move_axis(reshape(t, shape=(n, size, channels // size, *rest)), 1, 0)


def convolution(op, operands, settings, size):
    """``convolution`` and ``convolution_transposed``."""
    x, weight, bias = operands
    if not weight.batched and (bias is None or not bias.batched):
        shared = None if bias is None else bias.value
        return unfold(op.function(fold(x, size), weight.value, shared, **settings), size)
    if weight.batched:
        settings = settings | {"groups": settings["groups"] * size}
        y = op.function(into_channels(x, size), fold(weight, size), None, **settings)
        y = Batched(x.level, out_of_channels(y, size))
    else:
        y = fold(x, size) if x.batched else x.value
        y = op.function(y, weight.value, None, **settings)
        y = Batched(x.level, unfold(y, size) if x.batched else y, x.batched)
    return y.value if bias is None else aligned(add.spec, (y, along_channels(bias, y)), {}, size)


def along_channels(bias, y):
    """Reshapes a per-channel vector to broadcast against y."""
    ones = [1] * (len(y.shape) - 2)
    return Batched(bias.level, reshape(bias.value, shape=(*bias.value._a.shape, *ones)), bias.batched)


def conv_weight(op, operands, settings, size):
    x, g = operands
    settings = settings | {"groups": settings["groups"] * size}
    return unfold(ops.conv_weight(into_channels(x, size), into_channels(g, size), **settings), size)


CONV = {"convolution": convolution, "convolution_transposed": convolution, "conv_weight": conv_weight}
