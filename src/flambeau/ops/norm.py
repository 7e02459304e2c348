"""Norms of vectors and distances between them."""

import math

from ._op import op
from .matmul import mT, product
from .pointwise import abs_, keep, sgn
from .reduce import count_reduced, keep_dims, over, sum_, ties


@op(opmath=True, node="LinalgVectorNormBackward0", row_major=True)
def vector_norm(k, x, *, ord, axis, keepdims):
    if ord and count_reduced(x.shape, axis) == 1:
        return k.sum(k.abs(x), axis=axis, keepdims=keepdims)
    if ord == 2:
        return k.norm2(x, axis, keepdims)
    a = k.abs(x)
    if ord == 1:
        return k.sum(a, axis=axis, keepdims=keepdims)
    if ord == math.inf:
        return k.max(a, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return k.min(a, axis=axis, keepdims=keepdims)
    if ord == 0:
        return k.sum(a != 0, axis=axis, keepdims=keepdims).astype(a.dtype)
    return k.power(k.sum(k.power(a, ord), axis=axis, keepdims=keepdims), 1 / ord)


vector_norm.vjp(x=lambda g, x, out, ord, axis: vector_norm_pull(g, x, out, ord, axis))


def vector_norm_pull(g, x, out, ord, axis):
    shape = tuple(x.shape)
    g, out = keep_dims(g, shape, axis), keep_dims(out, shape, axis)
    if ord == 0:
        return None
    if ord == 1:
        return g * sgn(x)
    if ord == 2:
        return g * over(x, out)
    if ord in (math.inf, -math.inf):
        return g * sgn(x) * ties(abs_(x), out, axis=axis)
    if ord < 1:
        return keep(sgn(x) * abs_(x) ** (ord - 1), x != 0) * (g * out ** (1 - ord))
    if ord < 2:
        return sgn(x) * abs_(x) ** (ord - 1) * over(g, out ** (ord - 1))
    return x * abs_(x) ** (ord - 2) * over(g, out ** (ord - 1))


@op(opmath=True, row_major=True)
def largest_difference(k, x, *, axis):
    """The maximum norm of differences as a distance: each of several that are the largest gets the whole gradient."""
    return k.max(k.abs(x), axis=axis)


largest_difference.vjp(x=lambda g, x, out, axis: largest_difference_pull(g, x, out, axis))


def largest_difference_pull(g, x, out, axis):
    g, out = (keep_dims(y, tuple(x.shape), axis) for y in (g, out))
    return keep(g * sgn(x), abs_(x) == out)


@op(row_major=True)
def norm_of_all(k, *xs, ord):
    """The norm of all elements of arrays together."""
    norms = [vector_norm(x, ord=ord, axis=None, keepdims=False) for x in xs]
    return vector_norm(k.stack(norms), ord=ord, axis=None, keepdims=False)


@op(opmath=True, node="ViewBackward0", row_major=True)
def euclidean_distances(k, x, y):
    """The distance between each row of x and each row of y, by one matrix product."""
    xx = k.sum(x * x, axis=-1, keepdims=True)
    yy = k.sum(y * y, axis=-1, keepdims=True)
    squares = xx + k.swapaxes(yy, -1, -2) - 2 * k.matmul(x, k.swapaxes(y, -1, -2))
    return k.sqrt(k.maximum(squares, 0))


euclidean_distances.vjp(
    x=lambda g, x, y, out: pull_apart(over(g, out), x, y),
    y=lambda g, x, y, out: pull_apart(mT(over(g, out)), y, x),
)


def pull_apart(w, x, y):
    """sum_j w_ij (x_i - y_j)"""
    return sum_(w, axis=len(w.shape) - 1, keepdims=True) * x - product(w, y)
