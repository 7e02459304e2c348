"""Constraints of vectors and matrices."""

from ..._dtypes import bool_, finfo
from ...functions.linalg.decompose import cholesky_ex, eigvalsh
from ._constraint import Constraint

# ---- of vectors


class _Simplex(Constraint):
    """Probability vectors: nonnegative, with a sum of 1."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    """One-hot vectors."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    """Vectors of counts with a sum of at most `upper_bound`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# ---- of matrices


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with positive diagonals."""

    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: rows have unit length."""

    def check(self, value):
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = (value * value).sum(-1)
        return super().check(value) & ((lengths - 1).abs() < tolerance).all(-1)


def is_square(value):
    return value.shape[-2] == value.shape[-1]


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value):
        return value.new_full(value.shape[:-2], is_square(value), dtype=bool_)


class _Symmetric(_Square):
    """Symmetric matrices, up to 1e-6."""

    def check(self, value):
        return value.isclose(value.mT, atol=1e-6).flatten(-2).all(-1) if is_square(value) else super().check(value)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric positive-semidefinite matrices."""

    def check(self, value):
        symmetric = super().check(value)
        return symmetric & (eigvalsh(value) >= 0).all(-1) if is_square(value) else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric positive-definite matrices: those with a Cholesky factor."""

    def check(self, value):
        symmetric = super().check(value)
        return symmetric & (cholesky_ex(value).info == 0) if is_square(value) else symmetric
