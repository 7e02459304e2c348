"""Decompositions of matrices: part of ``flambeau.linalg``."""

from ...ops import linalg as ops
from ...ops import spectral
from ...ops.matmul import column, product
from ...ops.move import triu
from ...ops.shape import basic_index
from .._args import need_tensor
from .._out import out_variant, same
from .._results import result
from .._types import typed
from ._matrices import (
    check_info,
    need_fitting,
    need_floating,
    need_matrices,
    need_same_dtype,
    need_square,
    raise_if_failed,
)

__all__ = [
    "cholesky", "cholesky_ex", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "ldl_factor",
    "ldl_factor_ex", "ldl_solve", "lu", "lu_factor", "lu_factor_ex", "qr", "svd", "svdvals",
]

NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{info} is not positive-definite)."
)
ZERO_PIVOT = (
    "U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)
ZERO_BLOCK = (
    "D[{info},{info}] is zero and using it on ldl_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.ldl_factor_ex(A)"
)

CholeskyEx = result("linalg_cholesky_ex", "L", "info")
Qr = result("linalg_qr", "Q", "R")
Svd = result("linalg_svd", "U", "S", "Vh")
Eigh = result("linalg_eigh", "eigenvalues", "eigenvectors")
Eig = result("linalg_eig", "eigenvalues", "eigenvectors")
Lu = result("linalg_lu", "P", "L", "U")
LdlFactor = result("linalg_ldl_factor", "LD", "pivots")
LdlFactorEx = result("linalg_ldl_factor_ex", "LD", "pivots", "info")
LuFactor = result("linalg_lu_factor", "LU", "pivots")
LuFactorEx = result("linalg_lu_factor_ex", "LU", "pivots", "info")


# ---- Cholesky


@out_variant(dtype=same, aliases="any")
def cholesky(A, *, upper=False):
    """The factor L with ``A = L @ L.mH`` (or U with ``A = U.mH @ U``); only that triangle of A is read."""
    found, info = ops.cholesky_ex(need_square(A, "linalg.cholesky"), upper=bool(upper))
    raise_if_failed(info, "linalg.cholesky", NOT_POSITIVE)
    return found


@out_variant(dtype=same, aliases="any")
def cholesky_ex(A, *, upper=False, check_errors=False):
    """The Cholesky factors, and for each matrix 0 or the order of the leading minor that is not positive definite."""
    found = CholeskyEx(ops.cholesky_ex(need_square(A, "linalg.cholesky"), upper=bool(upper)))
    return check_info(found, check_errors, "linalg.cholesky_ex", NOT_POSITIVE)


# ---- QR


@out_variant(dtype=same, aliases="any")
@typed(mode=str)
def qr(A, mode="reduced"):
    """Q and R with ``A = Q @ R``: ``"reduced"``, ``"complete"`` with a square Q, or ``"r"`` for R alone."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode {mode!r} but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return Qr(spectral.qr(need_floating(need_matrices(A, "linalg.qr"), "linalg.qr"), mode=mode))


@out_variant(aliases="any")
def householder_product(A, tau):
    """The first columns of the product of reflections ``I - tau[i] v v.mH``, where v is a one above column i of A."""
    check_reflections(A, tau)
    return apply_reflections(A, tau, ops.eye_from(A))


def check_reflections(A, tau):
    name = "torch.linalg.householder_product"
    need_tensor(A, "linalg_householder_product", "A")
    need_tensor(tau, "linalg_householder_product", "tau", 2)
    a, t = A._a.shape, tau._a.shape
    if len(a) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if a[-2] < a[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if len(t) != len(a) - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {len(t)} and "
            f"input.ndim is equal to {len(a)}"
        )
    if a[-1] < t[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if a[:-2] != t[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(t[:-1])}"
        )
    if A._a.dtype != tau._a.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype} does not match input dtype {A.dtype}; both must be the same")
    need_floating(A, name, NotImplementedError)


def apply_reflections(A, tau, C, adjoint=False):
    """``H1 H2 ... Hk @ C``, or ``(H1 H2 ... Hk).mH @ C``."""
    vectors = ops.unit_lower(A, A._a.shape[-1])
    order = range(tau._a.shape[-1])
    for i in order if adjoint else reversed(order):
        v = basic_index(vectors, key=(Ellipsis, slice(i, i + 1)))
        factor = column(basic_index(tau, key=(Ellipsis, slice(i, i + 1))))
        C = C - (ops.cj(factor) if adjoint else factor) * product(v, product(ops.mH(v), C))
    return C


# ---- singular values


@out_variant(dtype=same, aliases="any")
@typed(full_matrices=bool)
def svd(A, full_matrices=True, *, driver=None):
    """U, S, Vh with ``A = U @ diag(S) @ Vh``, S descending."""
    check_driver(driver, "svd")
    need_floating(need_matrices(A, "linalg.svd"), "linalg.svd")
    return Svd(spectral.svd(A, full_matrices=bool(full_matrices)))


@out_variant(dtype=same, aliases="any")
def svdvals(A, *, driver=None):
    """The singular values of each matrix, descending."""
    check_driver(driver, "svdvals")
    return spectral.svdvals(need_floating(need_matrices(A, "linalg.svd"), "linalg.svd"))


def check_driver(driver, name):
    if driver is not None:
        raise RuntimeError(
            f"torch.linalg.{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


# ---- eigenvalues


@out_variant(dtype=same, aliases="any")
def eigh(A, UPLO="L"):
    """The eigenvalues (ascending) and eigenvectors of symmetric or Hermitian matrices; only one triangle is read."""
    return Eigh(spectral.eigh(need_square(A, "linalg.eigh"), uplo=triangle_of(UPLO)))


@out_variant(dtype=same, aliases="any")
def eigvalsh(A, UPLO="L"):
    """The eigenvalues of each symmetric or Hermitian matrix, ascending."""
    return spectral.eigvalsh(need_square(A, "linalg.eigh"), uplo=triangle_of(UPLO))


def triangle_of(uplo):
    if not isinstance(uplo, str):
        raise TypeError(f"linalg_eigh(): argument 'UPLO' must be str, not {type(uplo).__name__}")
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return uplo.upper()


@out_variant(aliases="any")
def eig(A):
    """The eigenvalues and eigenvectors of each square matrix; always complex."""
    return Eig(spectral.eig(need_square(A, "linalg.eig")))


@out_variant(aliases="any")
def eigvals(A):
    """The eigenvalues of each square matrix; always complex."""
    return spectral.eigvals(need_square(A, "linalg.eigvals"))


# ---- LU


@out_variant(dtype=same, aliases="any")
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """The compact LU factorization, its pivots, and for each matrix 0 or the index of a zero pivot."""
    found = LuFactorEx(_factor(A, pivot, "linalg.lu_factor"))
    return check_info(found, check_errors, "torch.linalg.lu_factor_ex", ZERO_PIVOT)


@out_variant(dtype=same, aliases="any")
def lu_factor(A, *, pivot=True):
    """The compact LU factorization with partial pivoting, and its pivots, as ``lu_solve`` takes them."""
    LU, pivots, info = _factor(A, pivot, "torch.lu_factor")
    raise_if_failed(info, "torch.linalg.lu_factor", ZERO_PIVOT, RuntimeError)
    return LuFactor(LU, pivots)


def _factor(A, pivot, name):
    need_tensor(A, name.replace(".", "_"), "A")
    if A._a.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A._a.shape)} instead")
    need_floating(A, name, NotImplementedError)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return ops.lu_factor_ex(A)


@out_variant(dtype=same, aliases="any")
def lu(A, *, pivot=True):
    """P, L, U with ``A = P @ L @ U``: a permutation, a unit lower and an upper triangular matrix."""
    LU, pivots, _ = _factor(A, pivot, "linalg.lu")
    P = ops.permutation_matrix(pivots, size=A._a.shape[-2], dtype=LU._a.dtype)
    return Lu(P, *unpack_factors(LU))


def unpack_factors(LU):
    """The factors L and U of a compact factorization."""
    m, n = LU._a.shape[-2:]
    k = min(m, n)
    return ops.unit_lower(LU, k), triu(ops.head(LU, k, n), diagonal=0)


# ---- LDL


@out_variant(dtype=same, aliases="any")
def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """The compact LDL factorization of symmetric (or Hermitian) matrices, its pivots, and the index of a zero pivot."""
    found = LdlFactorEx(ops.ldl_factor_ex(need_square(A, "linalg.ldl_factor_ex"), hermitian=bool(hermitian)))
    return check_info(found, check_errors, "torch.linalg.ldl_factor_ex", ZERO_BLOCK)


@out_variant(dtype=same, aliases="any")
def ldl_factor(A, *, hermitian=False):
    """The compact LDL factorization of symmetric (or Hermitian) matrices, and its pivots."""
    LD, pivots, info = ops.ldl_factor_ex(need_square(A, "torch.linalg.ldl_factor"), hermitian=bool(hermitian))
    raise_if_failed(info, "torch.linalg.ldl_factor", ZERO_BLOCK, RuntimeError)
    return LdlFactor(LD, pivots)


@out_variant(dtype=same, aliases="any")
def ldl_solve(LD, pivots, B, *, hermitian=False):
    """X with ``A @ X = B``, given the LDL factorization of A."""
    name = "torch.linalg.ldl_solve"
    need_square(LD, name)
    need_tensor(pivots, "linalg_ldl_solve", "pivots", 2)
    need_tensor(B, "linalg_ldl_solve", "B", 3)
    need_matrices(B, name, "B")
    if LD._a.shape[:-1] != pivots._a.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots._a.shape)} and LD with shape {list(LD._a.shape)} instead"
        )
    if pivots._a.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype}")
    need_same_dtype(LD, B, name)
    need_fitting(LD, B, True, name)
    return ops.ldl_solve(LD, pivots, B, hermitian=bool(hermitian))
