"""Batching rules of matrix functions outside the classes."""

from ...ops.shape import reshape
from ..vmap import Batched, with_batch_dim
from .classes import align, rank_of


def solve(op, operands, settings, size):
    """Matrices and right-hand sides broadcast; success is reported per matrix."""
    matrix, right = operands
    rank = rank_of(operands)
    wide = Batched(matrix.level, with_batch_dim(matrix, size))
    x, info = op.function(align(wide, rank), align(right, rank), **settings)
    return x, reshape(info, shape=(size, *matrix.shape[:-2]))


LINALG = {"linalg_solve_ex": solve}
