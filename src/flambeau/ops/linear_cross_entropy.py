"""The cross-entropy of a linear map in chunks of rows, without storing the scores of all rows at once.

Backward recomputes the scores, so that nothing of their size is saved.
"""

from ._op import op
from .loss import factors
from .pointwise import keep

TWICE = (
    "the derivative for 'linear_cross_entropy_backward' is not implemented: in chunks the loss can be differentiated "
    "once. Pass options=None where a derivative of its gradient is needed."
)


def chunks(count, size):
    return [slice(start, min(start + size, count)) for start in range(0, count, size)] or [slice(0, 0)]


def scores_of(k, x, weight, bias):
    scores = k.matmul(x, weight.T)
    return scores if bias is None else scores + bias


@op(opmath=True)
def linear_cross_entropy(k, x, weight, bias, target, class_weight, *, ignore, size):
    """The weighted loss of each row of x, the weights of the rows, and the logarithms of the sums of exponentials."""
    safe, weights = factors(k, target, class_weight, ignore, x.dtype, weight.shape[0])
    losses, sums = [], []
    for rows in chunks(x.shape[0], size):
        scores = scores_of(k, x[rows], weight, bias)
        top = k.max(scores, axis=1, keepdims=True)
        sums.append(k.log(k.sum(k.exp(scores - top), axis=1)) + top[:, 0])
        losses.append(sums[-1] - k.take_along(scores, safe[rows][:, None], 1)[:, 0])
    loss = k.where(weights != 0, k.concatenate(losses) * weights, 0)
    return loss.astype(x.dtype), weights, k.concatenate(sums)


@linear_cross_entropy.joint_vjp
def _(g, x, weight, bias, target, out_1, out_2, ignore, size):
    of_rows = keep(g[0] * out_1, out_1 != 0)
    g = linear_cross_entropy_pull(of_rows, x, weight, bias, target, out_2, ignore=ignore, size=size)
    return g[0], g[1], None if bias is None else g[2], None, None


@op(row_major=True)
def linear_cross_entropy_pull(k, g, x, weight, bias, target, sums, *, ignore, size):
    """The gradients of x, weight and bias, given those of the losses of the rows."""
    right = k.where(target == ignore, 0, target)
    classes, of_x, of_weight, of_bias = k.arange(weight.shape[0]), [], 0, 0
    for rows in chunks(x.shape[0], size):
        part = k.exp(scores_of(k, x[rows], weight, bias) - sums[rows][:, None])
        part = (part - (classes == right[rows][:, None])) * g[rows][:, None]
        of_x.append(k.matmul(part, weight))
        of_weight = of_weight + k.matmul(part.T, x[rows])
        of_bias = of_bias + part.sum(0)
    return k.concatenate(of_x).astype(x.dtype), of_weight.astype(weight.dtype), of_bias.astype(weight.dtype)


@linear_cross_entropy_pull.joint_vjp
def _(g):
    raise RuntimeError(TWICE)
