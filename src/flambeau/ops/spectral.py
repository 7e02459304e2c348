"""Orthogonal and spectral decompositions of matrices, over any leading batch dimensions."""

from ._op import kernel_op, op
from .join import cat
from .linalg import (
    as_diagonal,
    beside,
    from_triangle,
    gaps,
    head,
    matrix_diagonal,
    off_diagonal,
    solve_ex,
)
from .matmul import column, mH, product, row
from .move import tril
from .pointwise import cj, imag, is_complex, real, without_derivative
from .shape import basic_index, embed

QR_COMPLETE = (
    "The QR decomposition is not differentiable when mode='complete' and nrows > ncols: the columns of Q beyond the "
    "matrix's own are not unique. Use mode='reduced'."
)
QR_R = (
    "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
    "mode='reduced') if you are going to require gradients through linalg.qr"
)


@op(name="linalg_qr", row_major=True)
def qr(k, A, *, mode):
    if mode == "r":
        return k.zeros((0,), A.dtype), k.linalg.qr(A, mode="r")
    return tuple(k.linalg.qr(A, mode=mode))


@qr.joint_vjp
def _(g, out, A_shape, mode):
    Q, R = out
    gQ, gR = g
    m, n = A_shape[-2:]
    if mode == "r":
        raise RuntimeError(QR_R)
    if mode == "complete" and m > n:
        raise RuntimeError(QR_COMPLETE)
    if m >= n:
        return (qr_pull(gQ, gR, Q, R),)
    # A wide matrix: the first m columns carry the decomposition, the others follow from Q.
    rest = beside(gR, m)
    Y = product(Q, beside(R, m))
    first = qr_pull(gQ + product(Y, mH(rest)), head(gR, m, m), Q, head(R, m, m))
    return (cat(first, product(Q, rest), axis=len(A_shape) - 1),)


def qr_pull(gQ, gR, Q, R):
    M = product(R, mH(gR)) - product(mH(gQ), Q)
    lower = tril(M, diagonal=-1)
    symmetric = lower + mH(lower) + as_diagonal(real(matrix_diagonal(M)))
    return from_triangle(mH(R), gQ + product(Q, symmetric), left=False)


@op(name="linalg_svd", row_major=True)
def svd(k, A, *, full_matrices):
    return tuple(k.linalg.svd(A, full_matrices=full_matrices))


@svd.joint_vjp
def _(g, out, full_matrices):
    (U, S, Vh), (gU, gS, gVh) = out, g
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    if full_matrices:
        U, gU, Vh, gVh = head(U, m, k), head(gU, m, k), head(Vh, k, n), head(gVh, k, n)
    V, gV = mH(Vh), mH(gVh)
    UhgU, VhgV = product(mH(U), gU), product(Vh, gV)
    E = gaps(S * S)
    inner = skew(UhgU) / E * row(S) + column(S) * (skew(VhgV) / E)
    if is_complex(U):
        inner = off_diagonal(inner) + as_diagonal(1j * imag(matrix_diagonal(UhgU)) / S)
    grad = product(product(U, inner + as_diagonal(gS)), Vh)
    if m > k:
        grad = grad + product((gU - product(U, UhgU)) / row(S), Vh)
    if n > k:
        grad = grad + product(U / row(S), mH(gV - product(V, VhgV)))
    return (grad,)


def skew(x):
    return x - mH(x)


@op(name="linalg_svdvals", node="LinalgSvdBackward0")
def svdvals(k, A):
    return k.linalg.svd(A, compute_uv=False)


@svdvals.joint_vjp
def _(g, A):
    U, _, Vh = svd(A, full_matrices=False)
    return (product(U * row(g), Vh),)


@op(name="linalg_eigh", row_major=True)
def eigh(k, A, *, uplo):
    return tuple(k.linalg.eigh(A, UPLO=uplo))


@eigh.joint_vjp
def _(g, out):
    values, V = out
    turned = off_diagonal(product(mH(V), g[1]) / gaps(values))
    grad = product(product(V, turned + as_diagonal(g[0])), mH(V))
    return ((grad + mH(grad)) / 2,)


@op(name="linalg_eigvalsh", node="LinalgEighBackward0")
def eigvalsh(k, A, *, uplo):
    return k.linalg.eigvalsh(A, UPLO=uplo)


@eigvalsh.joint_vjp
def _(g, A, uplo):
    V = eigh(A, uplo=uplo)[1]
    return (product(V * row(g), mH(V)),)


eig = kernel_op("linalg_eig", "eig", inputs="A", row_major=True)


@eig.joint_vjp
def _(g, out):
    values, V = out
    VhgV = product(mH(V), g[1])
    along = real(matrix_diagonal(VhgV))  # removes changes of a vector's norm, which is one by convention
    turned = off_diagonal((VhgV - product(mH(V), V * row(along))) / cj(gaps(values)))
    return (solve_ex(mH(V), product(turned + as_diagonal(g[0]), mH(V)), left=True)[0],)


@op(name="linalg_eigvals", node="LinalgEigBackward0")
def eigvals(k, A):
    return k.eig(A)[0]


@eigvals.joint_vjp
def _(g, A):
    V = eig(A)[1]
    return (solve_ex(mH(V), column(g) * mH(V), left=True)[0],)


householder = kernel_op("geqrf", "householder", inputs="A", row_major=True)
householder.vjp(A=without_derivative("geqrf"))

# ---- the exponential

matrix_exp = kernel_op("linalg_matrix_exp", "matrix_exp", inputs="A", row_major=True)


@matrix_exp.joint_vjp
def _(g, A):
    """The derivative of exp at A in direction G is the upper right block of ``exp([[A, G], [0, A]])``."""
    n = A.shape[-1]
    shape = (*A.shape[:-2], 2 * n, 2 * n)
    first, second = slice(None, n), slice(n, None)
    block = (
        embed(mH(A), key=(Ellipsis, first, first), shape=shape)
        + embed(g, key=(Ellipsis, first, second), shape=shape)
        + embed(mH(A), key=(Ellipsis, second, second), shape=shape)
    )
    return (basic_index(matrix_exp(block), key=(Ellipsis, first, second)),)
