"""Approximate decompositions of large matrices of low rank, by random projection (Halko, Martinsson, Tropp 2009)."""

from __future__ import annotations

from ...ops.matmul import mH, product
from ...ops.reduce import mean
from .._args import need_tensor
from ..random import randn
from .decompose import qr, svd

__all__ = ["pca_lowrank", "svd_lowrank"]


def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S, V of about rank ``q`` with ``A`` (minus ``M``) near ``U @ diag(S) @ V.mH``; ``niter`` rounds refine it."""
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
    """Orthonormal columns that span nearly what A's columns do."""
    Q = qr(product(A, randn(A._a.shape[-1], q, dtype=A.dtype))).Q
    for _ in range(niter):
        Q = qr(product(mH(A), Q)).Q
        Q = qr(product(A, Q)).Q
    return Q


def pca_lowrank(A, q=None, center=True, niter=2):
    """The principal components of the rows of A: U, S, V of about rank ``q`` of the centred matrix."""
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
