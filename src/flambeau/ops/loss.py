"""Losses, elementwise or reduced."""

import math

from .._tensor import Tensor
from ..engines import engine_of
from ._op import kernel_op, op
from .activation import hardtanh_pull, softplus
from .elementary import log, sigmoid
from .pointwise import at_least_float32, clamp_numbers, keep
from .reduce import place
from .shape import reshape


def reduce_loss(k, x, reduction):
    return x if reduction == "none" else k.mean(x) if reduction == "mean" else k.sum(x)


def share(g, shape, reduction):
    """Each element's share of the gradient of a reduced loss."""
    return g / max(math.prod(shape), 1) if reduction == "mean" else g


# ---- distances


@op(promote="common", refuses="bic")
def mse_loss(k, x, y, *, reduction):
    away = x - y
    return reduce_loss(k, away * away, reduction)


mse_loss.vjp(
    x=lambda g, x, y, reduction: (x - y) * share(2 * g, x.shape, reduction),
    y=lambda g, x, y, reduction: (y - x) * share(2 * g, x.shape, reduction),
)


@op(promote="common", refuses="bic")
def smooth_l1_loss(k, x, y, *, reduction, beta):
    return reduce_loss(k, k.smooth_l1(x, y, beta), reduction)


smooth_l1_loss.vjp(
    x=lambda g, x, y, reduction, beta: smooth_l1_slope(x, y, beta=beta) * share(g, x.shape, reduction),
    y=lambda g, x, y, reduction, beta: smooth_l1_slope(y, x, beta=beta) * share(g, x.shape, reduction),
)

# The slope of the loss in x.
smooth_l1_slope = kernel_op("smooth_l1_slope", inputs="x, y", settings="beta", node="SmoothL1LossBackwardBackward0",
                            promote="common")
smooth_l1_slope.vjp(
    x=lambda h, x, y, beta: hardtanh_pull(h / beta, x - y, low=-beta, high=beta),
    y=lambda h, x, y, beta: hardtanh_pull(-h / beta, x - y, low=-beta, high=beta),
)


@op(promote="common", refuses="bic")
def huber_loss(k, x, y, *, reduction, delta):
    return reduce_loss(k, k.huber(x, y, delta), reduction)


huber_loss.vjp(
    x=lambda g, x, y, reduction, delta: huber_slope(x, y, delta=delta) * share(g, x.shape, reduction),
    y=lambda g, x, y, reduction, delta: huber_slope(y, x, delta=delta) * share(g, x.shape, reduction),
)

# The slope of the loss in x.
huber_slope = kernel_op("huber_slope", inputs="x, y", settings="delta", node="HuberLossBackwardBackward0",
                        promote="common")
huber_slope.vjp(
    x=lambda h, x, y, delta: hardtanh_pull(h, x - y, low=-delta, high=delta),
    y=lambda h, x, y, delta: hardtanh_pull(-h, x - y, low=-delta, high=delta),
)

# ---- two classes

LOWEST_LOG = -100  # replaces the logarithm of zero, to keep the loss and its gradient finite


def apply_weight(x, weight):
    return x if weight is None else x * weight


@op(opmath=True, refuses="bic")
def binary_cross_entropy(k, x, y, weight, *, reduction):
    x, y = k.probabilities(x, "input"), k.probabilities(y, "target")
    yes, no = k.maximum(k.log(x), LOWEST_LOG), k.maximum(k.log1p(-x), LOWEST_LOG)
    return reduce_loss(k, apply_weight((y - 1) * no - y * yes, weight), reduction)


binary_cross_entropy.vjp(
    x=lambda g, x, y, weight, reduction: apply_weight(
        share(g, x.shape, reduction) * (x - y) / clamp_numbers((1 - x) * x, low=1e-12, high=None), weight
    ),
    y=lambda g, x, weight, reduction: apply_weight(
        share(g, x.shape, reduction) * (at_least(1 - x) - at_least(x)), weight
    ),
)


def at_least(x):
    return clamp_numbers(log(x), low=LOWEST_LOG, high=None)


@op(promote="common", refuses="bic", constants="weight positive")
def binary_cross_entropy_with_logits(k, x, y, weight, positive, *, reduction):
    """The binary cross entropy of sigmoid(x); `positive` weighs the positive class."""
    of_one = k.log_sigmoid(x)
    of_one = of_one if positive is None else of_one * (1 + (positive - 1) * y)
    return reduce_loss(k, apply_weight((1 - y) * x - of_one, weight), reduction)


@binary_cross_entropy_with_logits.joint_vjp
def _(g, x, y, weight, positive, reduction, needs):
    g = apply_weight(share(g, x.shape, reduction), weight)
    if positive is None:
        return (sigmoid(x) - y) * g if needs[0] else None, -x * g if needs[1] else None, None, None
    below = softplus(-x, beta=1.0, threshold=50.0) if needs[1] else None
    return (
        ((1 - y) - (1 + (positive - 1) * y) * sigmoid(-x)) * g if needs[0] else None,
        (below * (positive - 1) - x) * g if needs[1] else None,
        None,
        None,
    )


# ---- classification: negative log-likelihood


def class_axis(shape):
    return min(1, len(shape) - 1)


def factors(k, target, weight, ignore, dtype, classes):
    """The class of each target, and its weight: zero for ignored targets."""
    kept, safe = k.class_targets(target, ignore, classes)
    return safe, kept.astype(dtype) if weight is None else k.where(kept, weight[safe], 0).astype(dtype)


@op(node=lambda x_shape: f"NllLoss{'2D' * (len(x_shape) > 2)}Backward0", opmath=True, refuses="c",
    constants="target weight")
def nll_loss(k, x, target, weight, *, ignore, reduction):
    """The loss, and the total weight."""
    of_rows = None if weight is not None else k.nll_of_rows(x, target, ignore, reduction)
    if of_rows is not None:
        return of_rows
    axis = class_axis(x.shape)
    safe, weights = factors(k, target, weight, ignore, x.dtype, x.shape[axis])
    picked = k.take_along(x, k.expand_dims(safe, axis), axis).reshape(target.shape)
    loss = k.where(weights != 0, -picked * weights, 0).astype(x.dtype)
    total = k.sum(weights)
    if reduction == "none":
        return loss, total
    return (k.sum(loss) / total if reduction == "mean" else k.sum(loss)), total


@nll_loss.joint_vjp
def _(g, target, weight, x_shape, ignore, reduction):
    axis = class_axis(x_shape)
    if weight is None and len(x_shape) == 2 and not isinstance(g[0], Tensor):
        of_rows = engine_of(g[0]).nll_of_rows_pull(g[0], target, ignore, reduction, x_shape[1])
        if of_rows is not None:
            return of_rows, None, None
    safe, slopes = nll_slopes(
        target, weight, ignore=ignore, reduction=reduction, classes=x_shape[axis], dtype=at_least_float32(g[0])
    )
    one = (*x_shape[:axis], 1, *x_shape[axis + 1:])
    g = keep(g[0] * slopes, target != ignore)  # zero even if g is NaN, as for the mean of nothing
    g, safe = reshape(g, shape=one), reshape(safe, shape=one)
    return place(g, safe, axis=axis, shape=tuple(x_shape)), None, None


@op
def nll_slopes(k, target, weight, *, ignore, reduction, classes, dtype):
    """The classes that ``nll_loss`` looks up, and the derivatives of the loss by their scores."""
    safe, weights = factors(k, target, weight, ignore, dtype, classes)
    if reduction == "mean":  # if all targets are ignored the loss is NaN, and its gradient zero
        return safe, k.where(weights != 0, -weights / k.sum(weights), 0).astype(dtype)
    return safe, -weights
