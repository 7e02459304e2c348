"""Batching rules of products. If one operand is unbatched, the samples are folded into a single larger product."""

import math

from ...ops import matmul as ops
from ...ops.pointwise import add, cj, mul
from ...ops.reduce import sum_
from ...ops.shape import basic_index, cast, reshape, zeros_like
from ..vmap import Batched, move_axis, with_batch_dim
from .classes import align, aligned, rank_of
from .shape import total


def matmul(op, operands, settings, size):
    """Matrices or batches of matrices, which broadcast."""
    x, y = operands
    if not y.batched and len(y.shape) == 2:
        return ops.matmul_folded(x.value, y.value)
    rank = rank_of(operands)
    x, y = align(x, rank), align(y, rank)
    return mul(x, y) if y._a.shape[-2] == 1 else ops.matmul_batched(x, y)  # columns by rows: per-sample gradients


def mv(op, operands, settings, size):
    x, y = operands
    if not y.batched:
        return ops.mv(x.value, y.value)
    column = basic_index(align(y, len(x.shape) - 1), key=(..., None), node="UnsqueezeBackward0")
    product = ops.matmul_batched(x.value, column)
    return reshape(product, shape=product._a.shape[:-1])


def vecmat(op, operands, settings, size):
    x, y = operands
    if not y.batched:
        return ops.mm(x.value, y.value)
    product = ops.matmul_batched(ops.row(with_batch_dim(x, size)), y.value)
    return reshape(product, shape=(size, y.shape[-1]))


def dot(op, operands, settings, size):
    x, y = operands
    terms = mul(cj(x.value) if op.name == "vdot" else x.value, y.value)
    return cast(sum_(terms, axis=(1,), keepdims=False), dtype=terms._a.dtype)  # integers too keep theirs


# ---- beta * x + alpha * (a @ b)


def sum_of_bmm(op, operands, settings, size):
    a, b = operands
    return total(ops.matmul_batched(with_batch_dim(a, size), with_batch_dim(b, size)), (1,))


def outer(op, operands, settings, size):
    a, b = operands
    return mul(ops.column(a.value), ops.row(b.value))


PRODUCTS = {"addmm": matmul, "addmv": mv, "baddbmm": matmul, "addbmm": sum_of_bmm, "addr": outer}


def add_product(op, operands, settings, size):
    x, a, b = operands
    beta, alpha = settings["beta"], settings["alpha"]
    if not (a.batched or b.batched):  # the product is unbatched
        zeros = zeros_like(x.value[0])
        product = Batched(a.level, op.function(zeros, a.value, b.value, beta=0, alpha=alpha), False)
    else:
        t = PRODUCTS[op.name](ops.matmul_batched.spec, (a, b), {}, size)
        product = Batched(a.level, t if alpha == 1 else t * alpha)
    if beta == 0:
        return with_batch_dim(product, size)
    return aligned(add.spec, (Batched(x.level, x.value if beta == 1 else x.value * beta, x.batched), product), {}, size)


# ---- the affine map of a layer


def linear(op, operands, settings, size):
    x, weight, bias = operands
    if not weight.batched and (bias is None or not bias.batched):
        return ops.linear(x.value, weight.value, None if bias is None else bias.value)
    y = multiply_rows(x, weight, size)
    return y.value if bias is None else aligned(add.spec, (y, bias), {}, size)


def multiply_rows(x, weight, size):
    """``x @ weight.T``."""
    if not weight.batched:
        return Batched(x.level, ops.linear(x.value, weight.value, None), x.batched)
    out, width = weight.shape
    count = math.prod(x.shape[:-1])
    if x.batched:
        y = ops.matmul_batched(reshape(x.value, shape=(size, count, width)), ops.mT(weight.value))
    else:
        wide = ops.linear(ops.rows(x.value), reshape(weight.value, shape=(size * out, width)), None)
        y = move_axis(reshape(wide, shape=(count, size, out)), 1, 0)
    return Batched(x.level, reshape(y, shape=(size, *x.shape[:-1], out)))


MATMUL = {
    "mm": matmul, "bmm": matmul, "matmul_batched": matmul, "matmul_folded": matmul, "mv": mv, "vecmat": vecmat,
    "dot": dot, "vdot": dot, **dict.fromkeys(PRODUCTS, add_product), "linear": linear, "input_product": linear,
}
