"""Softmax and its kin: each one op, with a kernel for the gradient."""

from ._op import op
from .elementary import exp
from .pointwise import cj
from .reduce import keep_dims, sum_


@op(promote="float", row_major=True)
def logsumexp(k, x, *, axis, keepdims):
    return k.logsumexp(x, axis, keepdims)


logsumexp.vjp(x=lambda g, x, out, axis: (keep_dims(g, x.shape, axis) * cj(exp(x - keep_dims(out, x.shape, axis)))))


@op(opmath=True, refuses="bic", row_major=True)
def softmax(k, x, *, axis):
    return k.softmax(x, axis)


softmax.vjp(x=lambda g, out, axis: softmax_pull(g, out, axis=axis))


@op(opmath=True)
def softmax_pull(k, g, y, *, axis):
    """y * (g - sum(g * y))"""
    return k.softmax_pull(g, y, axis)


softmax_pull.vjp(
    g=lambda h, y, axis: softmax_pull(h, y, axis=axis),
    y=lambda h, g, y, axis: h * (g - along(g * y, axis)) - g * along(h * y, axis),
)


def along(x, axis):
    return sum_(x, axis=axis if len(x.shape) else (), keepdims=True)


@op(opmath=True, refuses="bic", row_major=True)
def log_softmax(k, x, *, axis):
    return k.log_softmax(x, axis)


log_softmax.vjp(x=lambda g, out, axis: log_softmax_pull(g, out, axis=axis))


@op(opmath=True)
def log_softmax_pull(k, g, y, *, axis):
    """g - exp(y) * sum(g)"""
    return k.log_softmax_pull(g, y, axis)


log_softmax_pull.vjp(
    g=lambda h, y, axis: h - along(h * exp(y), axis),
    y=lambda h, g, y, axis: -h * exp(y) * along(g, axis),
)
