"""Partial decompositions: by random projection (Halko, Martinsson, Tropp 2009), or the extreme eigenvectors."""

import math

from ...ops.matmul import mH, product
from ...ops.reduce import mean
from .._args import need_tensor
from ..random import randn
from .decompose import cholesky, eigh, qr, svd
from .solve import solve_triangular

__all__ = ["lobpcg", "pca_lowrank", "svd_lowrank"]

TOO_SMALL = (
    "LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
    "requested eigenpairs (={count}). Use linalg.eigh."
)


def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S, V of rank about ``q`` with ``A - M`` ≈ ``U @ diag(S) @ V.mH``, refined by ``niter`` power iterations."""
    need_tensor(A, "svd_lowrank", "A")
    if M is not None:
        A = A - M
    m, n = A._a.shape[-2:]
    if m < n:
        U, S, V = svd_lowrank(mH(A), q, niter)
        return V, S, U
    Q = basis(A, 6 if q is None else q, niter)
    U, S, Vh = svd(product(mH(Q), A), full_matrices=False)
    return product(Q, U), S, mH(Vh)


def basis(A, q, niter):
    """Orthonormal columns that approximately span the range of A."""
    Q = qr(product(A, randn(A._a.shape[-1], q, dtype=A.dtype, device=A.device))).Q
    for _ in range(niter):
        Q = qr(product(mH(A), Q)).Q
        Q = qr(product(A, Q)).Q
    return Q


def pca_lowrank(A, q=None, center=True, niter=2):
    """The principal components of the rows of A: U, S, V of rank about ``q`` of the centred matrix."""
    need_tensor(A, "pca_lowrank", "A")
    m, n = A._a.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - mean(A, axis=(A._a.ndim - 2,), keepdims=True)
    return svd_lowrank(A, q, niter)


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):
    """The ``k`` largest (or smallest) eigenvalues and -vectors of ``A x = λ B x``, A symmetric, B positive definite.

    All are computed exactly and `k` of them returned; the parameters of the iteration have no effect.
    """
    need_tensor(A, "lobpcg", "A")
    rows, columns = A._a.shape[-2], A._a.shape[-1]
    if rows != columns:
        raise AssertionError(f"A must be square, got shape {list(A.shape)}")
    count = k if k is not None else X._a.shape[-1] if X is not None else 1
    if rows < 3 * count:
        raise ValueError(TOO_SMALL.format(rows=rows, count=count))
    if X is None:  # random, as PyTorch's iteration starts
        for _ in range(math.prod(A._a.shape[:-2])):
            randn(rows, count if n is None else n, dtype=A.dtype, device=A.device)
    largest = largest is None or largest
    if B is None:
        values, vectors = eigh(A)
    else:  # with B = L Lᴴ and y = Lᴴ x, the eigenproblem of L⁻¹ A L⁻ᴴ
        L = cholesky(B)
        half = solve_triangular(L, A, upper=False)
        values, vectors = eigh(solve_triangular(L, mH(half), upper=False))
        vectors = solve_triangular(mH(L), vectors, upper=True)
    chosen = slice(-count, None) if largest else slice(count)
    values, vectors = values[..., chosen], vectors[..., chosen]
    return (values.flip(-1), vectors.flip(-1)) if largest else (values, vectors)
