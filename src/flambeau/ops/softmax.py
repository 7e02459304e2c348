"""Softmax and its relatives: each one op, with a kernel for the gradient."""

from ._op import kernel_op
from .elementary import exp
from .pointwise import cj
from .reduce import keep_dims, sum_

logsumexp = kernel_op("logsumexp", inputs="x", settings="axis, keepdims", promote="float", row_major=True)
logsumexp.vjp(x=lambda g, x, out, axis: (keep_dims(g, x.shape, axis) * cj(exp(x - keep_dims(out, x.shape, axis)))))

softmax = kernel_op("softmax", inputs="x", settings="axis", opmath=True, refuses="bic", row_major=True)
softmax.vjp(x=lambda g, out, axis: softmax_pull(g, out, axis=axis))

# y * (g - sum(g * y))
softmax_pull = kernel_op("softmax_pull", inputs="g, y", settings="axis", opmath=True)
softmax_pull.vjp(
    g=lambda h, y, axis: softmax_pull(h, y, axis=axis),
    y=lambda h, g, y, axis: h * (g - along(g * y, axis)) - g * along(h * y, axis),
)


def along(x, axis):
    return sum_(x, axis=axis if len(x.shape) else (), keepdims=True)


log_softmax = kernel_op("log_softmax", inputs="x", settings="axis", opmath=True, refuses="bic", row_major=True)
log_softmax.vjp(x=lambda g, out, axis: log_softmax_pull(g, out, axis=axis))

# g - exp(y) * sum(g)
log_softmax_pull = kernel_op("log_softmax_pull", inputs="g, y", settings="axis", opmath=True)
log_softmax_pull.vjp(
    g=lambda h, y, axis: h - along(h * exp(y), axis),
    y=lambda h, g, y, axis: -h * exp(y) * along(g, axis),
)
