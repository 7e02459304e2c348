"""Determinants, inverses and solutions of linear equations: part of ``flambeau.linalg``."""

import math

import numpy as np

from ... import _dtypes
from ..._tensor import Tensor, wrap
from ...engines import is_traced
from ...ops import linalg as ops
from ...ops import spectral
from ...ops.matmul import column, product
from ...ops.shape import cast, clone, permute, reshape_shared
from .._args import as_int, need_tensor, tensor_on
from .._out import out_variant, same
from .._results import result
from ._matrices import (
    check_info,
    need_fitting,
    need_floating,
    need_matrices,
    need_same_dtype,
    need_square,
    raise_if_failed,
    word_of,
)

__all__ = [
    "det", "inv", "inv_ex", "lstsq", "lu_solve", "matrix_exp", "matrix_power", "pinv", "slogdet", "solve", "solve_ex",
    "solve_triangular", "tensorinv", "tensorsolve",
]

SINGULAR = (
    "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular."
)
SOLVE_SINGULAR = "The solver failed because the input matrix is singular."

Slogdet = result("linalg_slogdet", "sign", "logabsdet")
InvEx = result("linalg_inv_ex", "inverse", "info")
SolveEx = result("linalg_solve_ex", "result", "info")
Lstsq = result("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


# ---- determinants


@out_variant(dtype=same, aliases="any")
def det(A):
    """The determinant of each square matrix."""
    return ops.det(need_square(A, "linalg.det"))


@out_variant(dtype=same, aliases="any")
def slogdet(A):
    """The sign and the logarithm of the absolute value of the determinant of each square matrix."""
    return Slogdet(ops.slogdet(need_square(A, "linalg.slogdet")))


# ---- inverses


@out_variant(dtype=same, aliases="any")
def inv(A):
    """The inverse of each square matrix; LinAlgError if it is singular."""
    found, info = ops.inv_ex(need_square(A, "linalg.inv"))
    raise_if_failed(info, "linalg.inv", SINGULAR)
    return found


@out_variant(dtype=same, aliases="any")
def inv_ex(A, *, check_errors=False):
    """The inverses, and for each matrix 0 or the index of the zero pivot that made it fail."""
    return check_info(InvEx(ops.inv_ex(need_square(A, "linalg.inv"))), check_errors, "linalg.inv_ex", SINGULAR)


@out_variant(aliases="any")
def pinv(A, *, atol=None, rtol=None, hermitian=False):
    """The pseudo-inverse of each matrix; singular values up to ``max(atol, rtol * largest)`` count as zero."""
    need_tensor(A, "linalg_pinv", "A")
    if A._a.ndim < 2 or not _dtypes.is_inexact(A._a.dtype) or A._a.dtype in _dtypes.HALF:
        raise RuntimeError(
            f"linalg.pinv({word_of(A)}{{{list(A._a.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if hermitian:
        need_square(A, "linalg.pinv")
    atol, rtol = tolerances(A, atol, rtol, "linalg.pinv")
    return ops.pinv(A, atol, rtol, hermitian=hermitian)


def tolerances(A, atol, rtol, name):
    """atol and rtol as tensors in the real dtype of A; by default 0 and eps times the larger dimension."""
    real = A.dtype.to_real().np
    if rtol is None:
        default = max(A._a.shape[-2:]) * float(np.finfo(real).eps)
        # An absolute tolerance replaces the default relative one wherever it is positive.
        if isinstance(atol, Tensor):
            rtol = wrap(np.where(atol._a > 0, 0, default).astype(real))
        else:
            rtol = 0.0 if atol else default
    return as_tolerance(0.0 if atol is None else atol, real, name), as_tolerance(rtol, real, name)


def as_tolerance(value, dtype, name):
    if isinstance(value, Tensor):
        if value._a.dtype.kind == "c":
            raise RuntimeError(f"{name}: tolerances must be real, got {value.dtype}")
        return wrap(value._a.astype(dtype))
    return wrap(np.asarray(value, dtype))


@out_variant(aliases="any")
def tensorinv(A, ind=2):
    """The inverse of A as a linear map from its trailing dimensions to its first ``ind``."""
    need_tensor(A, "linalg_tensorinv", "A")
    ind = as_int(ind, "linalg_tensorinv", "ind")
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = A._a.shape
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    return reshape_shared(inv(reshape_shared(A, (rows, columns))), (*shape[ind:], *shape[:ind]))


# ---- solving


@out_variant(dtype=same, aliases="any")
def solve(A, B, *, left=True):
    """X with ``A @ X = B`` (``X @ A = B`` if not ``left``), for square A; LinAlgError if A is singular."""
    found, info = _solve(A, B, left)
    raise_if_failed(info, "torch.linalg.solve", SOLVE_SINGULAR)
    return found


@out_variant(dtype=same, aliases="any")
def solve_ex(A, B, *, left=True, check_errors=False):
    """The solution of ``solve``, and for each matrix 0 or the index of the zero pivot that made it fail."""
    return check_info(SolveEx(_solve(A, B, left)), check_errors, "torch.linalg.solve_ex", SOLVE_SINGULAR)


def _solve(A, B, left):
    name = "linalg.solve"
    need_square(A, name)
    need_tensor(B, "linalg_solve", "B", 2)
    need_same_dtype(A, B, name)
    if is_vector(A._a.shape, B._a.shape):
        if not left:
            need_fitting(A, column(B), left, name)
        x, info = _solve(A, column(B), True)
        return reshape_shared(x, x._a.shape[:-1]), info
    if B._a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    need_fitting(A, B, left, name)
    return ops.solve_ex(A, B, left=left)


def is_vector(a, b):
    """Whether B is a vector, or a batch of vectors with the batch dimensions of A."""
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


@out_variant(dtype=same, aliases="any")
def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X with ``A @ X = B`` (``X @ A = B`` if not ``left``), for triangular A. Singular matrices are not detected."""
    name = "linalg.solve_triangular"
    need_matrices(A, name)
    need_tensor(B, "linalg_solve_triangular", "B", 2)
    need_matrices(B, name, "B")
    need_same_dtype(A, B, name)
    need_square(A, name, NotImplementedError)
    need_fitting(A, B, left, name)
    return ops.solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)


@out_variant(dtype=same, aliases="any")
def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """X with ``A @ X = B``, given the LU factorization of A; ``left`` and ``adjoint`` as in the other solvers."""
    name = "linalg.lu_solve"
    need_square(LU, name)
    need_tensor(pivots, "linalg_lu_solve", "pivots", 2)
    need_tensor(B, "linalg_lu_solve", "B", 3)
    if pivots._a.dtype != np.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32, got {pivots.dtype}")
    if LU._a.shape[:-1] != pivots._a.shape:
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix: pivots "
            f"{list(pivots._a.shape)} for LU {list(LU._a.shape)}"
        )
    need_same_dtype(LU, B, name)
    need_matrices(B, name, "B")
    need_fitting(LU, B, left, name)
    P = ops.permutation_matrix(pivots, size=LU._a.shape[-1], dtype=LU._a.dtype)
    return from_lu(P, LU, B, left, adjoint)


def from_lu(P, LU, B, left, adjoint):
    """Solves with ``A = P L U``; the adjoint and right-hand systems are transposed to left-hand ones."""
    if not left:
        return ops.mH(from_lu(P, LU, ops.mH(B), True, not adjoint))
    if adjoint:
        x = ops.from_triangle(ops.mH(LU), B)
        return product(P, ops.from_triangle(ops.mH(LU), x, upper=True, unitriangular=True))
    x = ops.from_triangle(LU, product(ops.mT(P), B), unitriangular=True)
    return ops.from_triangle(LU, x, upper=True)


@out_variant(aliases="any")
def tensorsolve(A, B, dims=None):
    """X with ``tensordot(A, X, X.ndim) = B``; the dimensions of A in ``dims`` are moved to the end first."""
    need_tensor(A, "linalg_tensorsolve", "A")
    need_tensor(B, "linalg_tensorsolve", "B", 2)
    if dims is not None:
        moved = [d % A._a.ndim for d in dims]
        A = permute(A, axes=(*(d for d in range(A._a.ndim) if d not in moved), *moved))
    shape = A._a.shape
    rest = shape[B._a.ndim:]
    if math.prod(rest) != math.prod(shape[:B._a.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {math.prod(rest)} != {math.prod(shape[:B._a.ndim])}"
        )
    x = solve(reshape_shared(A, (B._a.size, math.prod(rest))), reshape_shared(B, (B._a.size,)))
    return reshape_shared(x, rest)


# ---- least squares

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq(A, B, rcond=None, *, driver=None):
    """The X that minimises ``|A @ X - B|``; residuals, rank and singular values as far as ``driver`` computes them."""
    name = "torch.linalg.lstsq"
    need_tensor(A, "linalg_lstsq", "A")
    need_tensor(B, "linalg_lstsq", "B", 2)
    check_lstsq(A, B, driver, name)
    driver = driver or "gelsy"
    need_floating(A, name)
    vector = is_vector(A._a.shape, B._a.shape)
    right = column(B) if vector else B
    if A._a.shape[-2] != right._a.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-2)")
    m, n = A._a.shape[-2:]
    real = A.dtype.to_real().np
    rtol = as_tolerance(max(m, n) * float(np.finfo(real).eps) if rcond is None else rcond, real, name)
    solution, residuals, ranks, values = ops.lstsq(A, right, rtol, residuals=m > n and driver != "gelsy")
    if residuals._a.size and driver != "gels" and not is_traced(ranks._a) and (ranks._a < n).any():
        residuals = no_values(A, real)
    return Lstsq(
        reshape_shared(solution, solution._a.shape[:-1]) if vector else solution,
        residuals,
        no_values(A, np.int64) if driver == "gels" else ranks,
        wrap(values._a) if driver in ("gelsd", "gelss") else no_values(A, real),
    )


def no_values(like, dtype):
    return tensor_on(np.zeros((0,), dtype), like.device)


def check_lstsq(A, B, driver, name):
    if A._a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B._a.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A._a.dtype != B._a.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got {word_of(A)} and {word_of(B)}"
        )
    if driver is not None and driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")


# ---- powers


@out_variant(dtype=same, aliases="any")
def matrix_power(A, n):
    """The n-th power of each square matrix; of its inverse for negative n."""
    name = "linalg.matrix_power"
    need_matrices(A, name)
    n = as_int(n, "linalg_matrix_power", "n")
    rows, columns = A._a.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    return power(A, n)


def power(A, n):
    """Exponentiation by squaring."""
    if n == 0:
        return ops.eye_from(A)
    if n < 0:
        return power(inv(A), -n)
    if n == 1:
        return clone(A)
    found = None
    while n:
        if n & 1:
            found = A if found is None else product(found, A)
        n >>= 1
        if n:
            A = product(A, A)
    return found


def matrix_exp(A):
    """The exponential of each square matrix."""
    name = "linalg.matrix_exp"
    if isinstance(A, Tensor) and A._a.dtype in _dtypes.HALF:
        return cast(matrix_exp(cast(A, dtype=np.dtype(np.float32))), dtype=A._a.dtype)
    return spectral.matrix_exp(need_square(A, name))
