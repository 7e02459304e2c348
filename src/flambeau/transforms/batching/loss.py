"""Batching rules of losses: computed per element, then reduced within each sample."""

from ...ops import loss as ops
from ...ops.pointwise import div, neg
from ...ops.reduce import mean, sum_
from ...ops.shape import reshape
from ..vmap import loop, with_batch_dim
from .classes import aligned, fold, table


def reduce_samples(t, reduction):
    """Reduces an elementwise loss within each sample."""
    if reduction == "none":
        return t
    axes = tuple(range(1, t._a.ndim))
    return (mean if reduction == "mean" else sum_)(t, axis=axes, keepdims=False)


def elementwise(op, operands, settings, size):
    """Losses that are sums of elementwise terms."""
    each = aligned(op, operands, settings | {"reduction": "none"}, size)
    return reduce_samples(each, settings["reduction"])


# ---- many classes: the samples of the vmap are more samples of the loss


def targets(target, size):
    """The targets of all samples as one batch; a single target already is a sample."""
    return fold(target, size) if target.shape else with_batch_dim(target, size)


def within(t, target, size):
    """Restores the batch dimension of a per-target result."""
    return reshape(t, shape=(size, *target.shape))


def sum_samples(t):
    return sum_(t, axis=tuple(range(1, t._a.ndim)), keepdims=False)


def nll_loss(op, operands, settings, size):
    x, target, weight = operands
    if weight is not None and weight.batched:
        return loop(op, operands, settings, size)
    tensors = fold(x, size) if len(x.shape) > 1 else with_batch_dim(x, size), targets(target, size), value_below(weight)
    each = within(ops.nll_loss(*tensors, ignore=settings["ignore"], reduction="none")[0], target, size)
    _, slopes = ops.nll_slopes(
        *tensors[1:], ignore=settings["ignore"], reduction="sum", classes=x.shape[ops.class_axis(x.shape)],
        dtype=x.dtype,
    )
    total = sum_samples(within(neg(slopes), target, size))
    if settings["reduction"] == "none":
        return each, total
    loss = sum_samples(each)
    return (div(loss, total) if settings["reduction"] == "mean" else loss), total


def nll_slopes(op, operands, settings, size):
    target, weight = operands
    if weight is not None and weight.batched:
        return loop(op, operands, settings, size)
    safe, slopes = op.function(targets(target, size), value_below(weight), **settings | {"reduction": "sum"})
    safe, slopes = within(safe, target, size), within(slopes, target, size)
    if settings["reduction"] == "mean":
        total = reshape(sum_samples(slopes), shape=(size, *[1] * len(target.shape)))
        slopes = neg(div(slopes, total))
    return safe, slopes


def value_below(x):
    return None if x is None else x.value


LOSS = {
    **table(elementwise, """mse_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy
            binary_cross_entropy_with_logits"""),
    "nll_loss": nll_loss, "nll_slopes": nll_slopes,
}
