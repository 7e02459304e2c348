"""Linear algebra functions of the top level: older names and signatures for ``flambeau.linalg``."""

import numpy as np

from ...ops import linalg as ops
from ...ops.elementary import log
from ...ops.pointwise import where
from ...ops.spectral import householder
from .._args import need_tensor, tensor_on
from .._attach import methods
from .._out import anything, out_variant, resize_without_warning, same
from .._results import result
from .._types import typed
from . import decompose
from . import solve as solving
from ._matrices import need_broadcast, need_floating, need_matrices, need_square
from .decompose import apply_reflections, unpack_factors

__all__ = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "det", "geqrf", "inverse", "logdet",
    "lu", "lu_solve", "lu_unpack", "matrix_exp", "matrix_power", "orgqr", "ormqr", "pinverse", "qr",
    "slogdet", "svd", "triangular_solve",
]

Svd = result("svd", "U", "S", "V")
Qr = result("qr", "Q", "R")
Slogdet = result("slogdet", "sign", "logabsdet")
Geqrf = result("geqrf", "a", "tau")
LuWithInfo = result("_lu_with_info", "LU", "pivots", "info")
LuUnpack = result("lu_unpack", "P", "L", "U")
TriangularSolve = result("triangular_solve", "solution", "cloned_coefficient")

PIVOTS = (
    "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive. Did you properly pass the result of "
    "lu_factor?"
)


# ---- determinants, inverses, powers


def det(input):
    """The determinant of each square matrix."""
    return solving.det(input)


@out_variant(dtype=same, aliases="any")
def slogdet(input):
    """The sign and the logarithm of the absolute value of the determinant of each square matrix."""
    return Slogdet(solving.slogdet(input))


def logdet(input):
    """The logarithm of the determinant of each square matrix; NaN if it is negative."""
    sign, magnitude = ops.slogdet(need_square(input, "logdet"))
    if sign._a.dtype.kind == "c":
        return magnitude + log(sign)
    return where(sign == -1, float("nan"), magnitude)


@out_variant(dtype=same, aliases="any")
def inverse(input):
    """The inverse of each square matrix."""
    return solving.inv(input)


@typed(rcond=float)
def pinverse(input, rcond=1e-15):
    """The pseudo-inverse of each matrix; singular values up to ``rcond`` times the largest count as zero."""
    return solving.pinv(input, atol=0.0, rtol=rcond)


@out_variant(dtype=same, aliases="any")
def matrix_power(input, n):
    """The n-th power of each square matrix; of its inverse for negative n."""
    return solving.matrix_power(input, n)


def matrix_exp(input):
    """The exponential of each square matrix."""
    return solving.matrix_exp(input)


# ---- decompositions


@out_variant(dtype=same, aliases="any")
@typed(some=bool, compute_uv=bool)
def svd(input, some=True, compute_uv=True):
    """U, S, V with ``input = U @ diag(S) @ V.mH``; zeros for U and V unless ``compute_uv``."""
    if compute_uv:
        U, S, Vh = decompose.svd(input, full_matrices=not some)
        found = Svd(U, S, ops.mH(Vh))
    else:
        S = decompose.svdvals(input)
        *batch, m, n = input._a.shape
        zeros = (tensor_on(np.zeros((*batch, size, size), input._a.dtype), input.device) for size in (m, n))
        found = Svd(next(zeros), S, next(zeros))
    return found


@out_variant(dtype=same, aliases="any")
@typed(some=bool)
def qr(input, some=True):
    """Q and R with ``input = Q @ R``; a square Q unless ``some``."""
    return Qr(decompose.qr(input, "reduced" if some else "complete"))


@out_variant(aliases="any")
def geqrf(input):
    """The QR decomposition in LAPACK's format: R with the reflections below its diagonal, and tau."""
    return Geqrf(householder(need_floating(need_matrices(input, "geqrf", "input"), "geqrf")))


@out_variant(aliases="any")
def orgqr(input, input2):
    """The matrix Q of the reflections returned by ``geqrf``."""
    return decompose.householder_product(input, input2)


@out_variant(dtype=same, aliases="any")
def ormqr(input, input2, input3, left=True, transpose=False):
    """``Q @ input3``, ``input3 @ Q``, or the same with Q's adjoint, for the full Q of the given reflections."""
    for position, (argument, x) in enumerate((("input", input), ("input2", input2), ("input3", input3)), 1):
        need_tensor(x, "ormqr", argument, position)
    check_ormqr(input._a, input2._a, input3._a, left)
    if left:
        found = apply_reflections(input, input2, input3, adjoint=transpose)
    else:
        found = ops.mH(apply_reflections(input, input2, ops.mH(input3), adjoint=not transpose))
    return found


def check_ormqr(a, tau, c, left):
    if a.ndim < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if c.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    if c.shape[side] < tau.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if c.shape[side] != a.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1] > a.shape[-1]:
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])")
    if a.ndim != tau.ndim + 1:
        raise RuntimeError(
            f"torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} "
            f"and input.ndim is equal to {a.ndim}"
        )
    if a.ndim != c.ndim or a.shape[:-2] != tau.shape[:-1] or a.shape[:-2] != c.shape[:-2]:
        raise RuntimeError(
            "torch.ormqr: Expected the batch dimensions of all inputs to be equal, but got shapes "
            f"{list(a.shape)}, {list(tau.shape)}, {list(c.shape)}"
        )
    if not a.dtype == tau.dtype == c.dtype:
        raise RuntimeError("torch.ormqr: Expected input, tau and other to have the same dtype")


@out_variant(dtype=anything, fit=resize_without_warning, aliases="any")
@typed(pivot=bool, get_infos=bool)
def lu(A, pivot=True, get_infos=False, out=None):
    """The compact LU factorization and its pivots; with ``get_infos`` also the index of a zero pivot."""
    LU, pivots, info = decompose.lu_factor_ex(A, pivot=pivot)
    return LuWithInfo(LU, pivots, info) if get_infos else (LU, pivots)


def _lu(self, pivot=True, get_infos=False):
    """The compact LU factorization and its pivots; see ``lu``."""
    return lu(self, pivot, get_infos)


@out_variant(dtype=same, aliases="any")
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """The matrices P, L and U of a factorization by ``lu_factor``; empty ones if not requested."""
    need_tensor(LU_data, "lu_unpack", "LU_data")
    need_tensor(LU_pivots, "lu_unpack", "LU_pivots", 2)
    if LU_data._a.ndim < 2:
        raise RuntimeError("torch.lu_unpack: LU_data must have at least 2 dimensions")
    if unpack_pivots and LU_pivots._a.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, got "
            f"{LU_pivots.dtype}. Note: this function is intended to be used with the output of linalg.lu_factor"
        )
    empty = tensor_on(np.zeros((0,), LU_data._a.dtype), LU_data.device)
    try:
        rows, dtype = LU_data._a.shape[-2], LU_data._a.dtype
        P = ops.permutation_matrix(LU_pivots, size=rows, dtype=dtype) if unpack_pivots else empty
    except IndexError:
        raise RuntimeError(PIVOTS) from None
    L, U = unpack_factors(LU_data) if unpack_data else (empty, empty)
    return LuUnpack(P, L, U)


# ---- solving


@out_variant(dtype=same, aliases="any")
def lu_solve(input, LU_data, LU_pivots):
    """X with ``A @ X = input``, given the LU factorization of A."""
    return solving.lu_solve(LU_data, LU_pivots, input)


@out_variant(aliases="any")
@typed(upper=bool)
def cholesky(input, upper=False):
    """The Cholesky factor of each symmetric (Hermitian) positive-definite matrix."""
    return decompose.cholesky(input, upper=upper)


@out_variant(aliases="any")
@typed(upper=bool)
def cholesky_solve(input, input2, upper=False):
    """X with ``A @ X = input``, given the Cholesky factor ``input2`` of A."""
    need_tensor(input, "cholesky_solve", "input")
    need_tensor(input2, "cholesky_solve", "input2", 2)
    for which, x in (("b", input), ("u", input2)):
        if x._a.ndim < 2:
            raise RuntimeError(f"{which} should have at least 2 dimensions, but has {x._a.ndim} dimensions instead")
    a, b = input2._a.shape, input._a.shape
    need_square(input2, "cholesky_solve")
    if a[-1] != b[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {a[-1]} by {a[-1]} but each b matrix is "
            f"{b[-2]} by {b[-1]}"
        )
    need_broadcast(b, a)
    return ops.cholesky_solve(input, input2, upper=bool(upper))


@out_variant(aliases="any")
@typed(upper=bool)
def cholesky_inverse(input, upper=False):
    """The inverse of each matrix, given its Cholesky factor."""
    return ops.cholesky_inverse(need_square(input, "cholesky_inverse"), upper=bool(upper))


@out_variant(dtype=same, aliases="any")
@typed(upper=bool, transpose=bool, unitriangular=bool)
def triangular_solve(input, A, upper=True, transpose=False, unitriangular=False):
    """X with ``A @ X = input`` for triangular A (or its transpose), and a copy of A."""
    need_tensor(input, "triangular_solve", "input")
    need_tensor(A, "triangular_solve", "A", 2)
    for which, x in (("b", input), ("A", A)):
        if x._a.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {which} to have at least 2 dimensions, but it has {x._a.ndim} "
                "dimensions instead"
            )
    coefficient = ops.mT(A) if transpose else A
    solution = solving.solve_triangular(coefficient, input, upper=upper != transpose, unitriangular=unitriangular)
    return TriangularSolve(solution, A.clone())


methods(
    cholesky, cholesky_inverse, cholesky_solve, det, geqrf, inverse, logdet, lu_solve, matrix_exp, matrix_power,
    orgqr, ormqr, pinverse, qr, slogdet, svd, triangular_solve, lu=_lu,
)
