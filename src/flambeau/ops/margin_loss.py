"""Losses of classes with a margin."""

from ._op import kernel_op, op
from .elementary import sigmoid
from .loss import reduce_loss, share
from .reduce import place, sum_
from .shape import reshape

SMALLEST_SQUARE = 1e-12  # added to squared norms, to avoid division by zero


@op(promote="common", refuses="bic")
def soft_margin_loss(k, x, target, *, reduction):
    """log(1 + exp(-target x))"""
    return reduce_loss(k, 0 - k.log_sigmoid(target * x), reduction)


soft_margin_loss.vjp(x=lambda g, x, target, reduction: -target * sigmoid(-target * x) * share(g, x.shape, reduction))


@op(opmath=True)
def multi_margin_loss(k, x, target, weight, *, p, margin):
    """For each row of x the sum of max(0, margin - x[right] + x[other]) ** p, over the number of classes."""
    return k.sum(shortfalls(k, x, target, margin) ** p, axis=1) * class_factors(k, x, target, weight)[:, 0]


def shortfalls(k, x, target, margin):
    """The margin violation of each wrong class; zero for the right one."""
    right = k.expand_dims(target, 1)
    short = margin - k.take_along(x, right, 1) + x
    return k.where((k.arange(x.shape[1]) != right) & (short > 0), short, 0).astype(x.dtype)  # NaN is no violation


def class_factors(k, x, target, weight):
    factors = k.ones((x.shape[0], 1), x.dtype) if weight is None else k.expand_dims(weight[target], 1)
    return (factors / x.shape[1]).astype(x.dtype)


@multi_margin_loss.joint_vjp
def _(g, x, target, weight, p, margin):
    slopes = multi_margin_slopes(x, target, weight, p=p, margin=margin)
    own = place(sum_(slopes, axis=1, keepdims=True), reshape(target, shape=(-1, 1)), axis=1, shape=tuple(x.shape))
    return reshape(g, shape=(g.shape[0], 1)) * (slopes - own), None, None


@op(row_major=True)
def multi_margin_slopes(k, x, target, weight, *, p, margin):
    """The derivative of the loss by the score of each wrong class."""
    short = shortfalls(k, x, target, margin)
    slopes = (short > 0).astype(x.dtype) if p == 1 else 2 * short
    return slopes * class_factors(k, x, target, weight)


multi_margin_slopes.vjp(x=lambda g, x, target, weight, p, margin: second_slopes(g, x, target, weight, p, margin))


def second_slopes(g, x, target, weight, p, margin):
    if p == 1:
        return g * 0
    g = 2 * g * multi_margin_slopes(x, target, weight, p=1, margin=margin)
    own = sum_(g, axis=1, keepdims=True)
    return g - place(own, reshape(target, shape=(-1, 1)), axis=1, shape=tuple(x.shape))


# For each row of x the loss, which is piecewise linear, and its derivative.
multilabel_margin_loss = kernel_op("multilabel_margin_loss", "multilabel_margin", inputs="x, target", opmath="first",
                                   piecewise_linear=True)


@multilabel_margin_loss.joint_vjp
def _(g, out_1):
    return reshape(g[0], shape=(-1, 1)) * out_1, None
