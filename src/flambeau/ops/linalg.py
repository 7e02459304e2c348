"""Inverses, determinants, triangles and solutions of linear equations, over any leading batch dimensions.

The gradients are the classical ones (Giles 2008; Townsend 2016; Golub and Pereyra 1973), in the convention that the
gradient of a real loss is conjugated: ``mH`` where the real formula has a transpose.
"""

from ._op import kernel_op, op
from .join import cat
from .matmul import column, mH, mT, product, row
from .move import tril, triu
from .pointwise import cj, imag, is_complex, undifferentiable
from .reduce import sum_
from .shape import basic_index, diagonal, embed_diagonal


@op(row_major=True)
def eye_like(k, x):
    """Identity matrices in the shape and dtype of x."""
    return k.broadcast_to(k.eye(x.shape[-2], x.shape[-1], dtype=x.dtype), x.shape)


@op(node="CopyBackwards", row_major=True)
def eye_from(k, x):
    """``eye_like``, connected to x in the graph: its gradient is zero instead of undefined."""
    return k.copy(k.broadcast_to(k.eye(x.shape[-2], x.shape[-1], dtype=x.dtype), x.shape))


eye_from.vjp(x=lambda g: g * 0)


def off_diagonal(x):
    return x * (1 - eye_like(x))


def matrix_diagonal(x):
    n = len(x.shape)
    return diagonal(x, offset=0, axis1=n - 2, axis2=n - 1)


def as_diagonal(v):
    """Square matrices with v on the diagonal."""
    n = len(v.shape)
    return embed_diagonal(v, shape=(*v.shape, v.shape[-1]), offset=0, axis1=n - 1, axis2=n)


def scalar(x):
    """A number per matrix, shaped to multiply the matrices."""
    return column(column(x))


def head(x, rows, columns):
    """The upper left part of each matrix; None means all."""
    return basic_index(x, key=(Ellipsis, slice(rows), slice(columns)))


def gaps(values):
    """The differences ``values[j] - values[i]`` as a matrix, with ones on the diagonal."""
    square = row(values) - column(values)
    return square + eye_like(square)


# ---- inverses and determinants

# (inverse, info); a singular matrix has a positive info and an inverse of NaNs.
inv_ex = kernel_op("linalg_inv_ex", "inv_ex", inputs="A", row_major=True)
inv_ex.vjp(A=lambda g, out_0: -product(mH(out_0), product(g[0], mH(out_0))))


def inverse(A):
    return inv_ex(A)[0]


# (X, info) with ``A @ X = B``, or ``X @ A = B`` where not left.
solve_ex = kernel_op("linalg_solve_ex", "solve_ex", inputs="A, B", settings="left", row_major=True)


@solve_ex.joint_vjp
def _(g, A, out_0, left, needs):
    X = out_0
    B_grad = solve_ex(mH(A), g[0], left=left)[0]
    if not needs[0]:
        return None, B_grad
    return -(product(B_grad, mH(X)) if left else product(mH(X), B_grad)), B_grad


det = kernel_op("linalg_det", "det", inputs="A")
det.vjp(A=lambda g, A: scalar(g) * cj(cofactor(A)))


@op(row_major=True)
def cofactor(k, A):
    """The derivative of the determinant, ``det(A) * inv(A).T``; by an SVD, so that it holds for singular matrices."""
    U, S, Vh = k.linalg.svd(A, full_matrices=False)
    ones = k.ones_like(S[..., :1])
    before = k.concatenate([ones, k.cumprod(S, axis=-1)[..., :-1]], axis=-1)
    after = k.concatenate([ones, k.cumprod(S[..., ::-1], axis=-1)[..., :-1]], axis=-1)[..., ::-1]
    sign = k.det(U) * k.det(Vh)
    return k.matmul(k.conj(U) * (before * after * sign[..., None])[..., None, :], k.conj(Vh))


@cofactor.joint_vjp
def _(g, A, out):
    adjoint = mH(inverse(A))
    n = len(A.shape)
    along = sum_(g * cj(out), axis=(n - 2, n - 1), keepdims=True)
    return (along * adjoint - product(product(adjoint, mT(g)), cj(out)),)


slogdet = kernel_op("linalg_slogdet", "slogdet", inputs="A")


@slogdet.joint_vjp
def _(g, A, out_0):
    sign_grad, log_grad = g
    if is_complex(A):
        log_grad = log_grad - 1j * imag(cj(sign_grad) * out_0)
    return (scalar(log_grad) * mH(inverse(A)),)


@op(name="linalg_pinv", row_major=True)
def pinv(k, A, atol, rtol, *, hermitian):
    """The pseudo-inverse; singular values up to ``max(atol, rtol * largest)`` count as zero."""
    if A.size == 0:
        return k.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    if hermitian:
        values, U = k.linalg.eigh(A)
        Vh = k.conj(k.swapaxes(U, -1, -2))
    else:
        U, values, Vh = k.linalg.svd(A, full_matrices=False)
    size = k.abs(values)
    tolerance = k.maximum(atol[..., None], rtol[..., None] * k.max(size, axis=-1, keepdims=True))
    inverted = k.where(size > tolerance, 1 / k.where(size > tolerance, values, 1), 0).astype(values.dtype)
    return k.matmul(k.conj(k.swapaxes(Vh, -1, -2)) * inverted[..., None, :], k.conj(k.swapaxes(U, -1, -2)))


@pinv.joint_vjp
def _(g, A, out):
    return pinv_pull(g, A, out), None, None


def pinv_pull(g, A, P):
    Ph, gh = mH(P), mH(g)
    return (
        product(gh - product(A, product(P, gh)), product(P, Ph))
        + product(Ph, product(P, gh - product(product(gh, P), A)))
        - product(Ph, product(g, Ph))
    )


@op(name="linalg_lstsq", row_major=True)
def lstsq(k, A, B, rtol, *, residuals):
    """(X, residuals or an empty array, ranks, singular values) for the X that makes ``A @ X - B`` smallest."""
    U, S, Vh = k.linalg.svd(A, full_matrices=False)
    large = rtol * S[..., :1] < S
    inverted = k.where(large, 1 / k.where(large, S, 1), 0).astype(S.dtype)
    X = k.matmul(mH(Vh), inverted[..., None] * k.matmul(mH(U), B))
    miss = k.matmul(A, X) - B if residuals else k.zeros((0, 0), A.dtype)
    return X, k.sum(k.real(miss * k.conj(miss)), axis=-2), k.sum(large.astype(k.int64), axis=-1), S


@lstsq.joint_vjp
def _(g, A, B, rtol, out_0, residuals):
    X, gX = out_0, g[0]
    P = pinv(A, rtol * 0, rtol, hermitian=False)
    gB = product(mH(P), gX)
    gA = pinv_pull(product(gX, mH(B)), A, P)
    if residuals:  # the residuals are stationary at X, which minimizes them
        along = (product(A, X) - B) * row(g[1] * 2)
        gA, gB = gA + product(along, mH(X)), gB - along
    return gA, gB, None


# ---- triangles

solve_triangular = kernel_op("linalg_solve_triangular", "solve_triangular", inputs="A, B",
                             settings="upper, left, unitriangular")


@solve_triangular.joint_vjp
def _(g, A, out, upper, left, unitriangular, needs):
    B_grad = solve_triangular(mH(A), g, upper=not upper, left=left, unitriangular=unitriangular)
    if not needs[0]:
        return None, B_grad
    A_grad = -(product(B_grad, mH(out)) if left else product(mH(out), B_grad))
    return triu(A_grad, diagonal=int(unitriangular)) if upper else tril(A_grad, diagonal=-int(unitriangular)), B_grad


def from_triangle(L, B, *, upper=False, left=True, unitriangular=False):
    return solve_triangular(L, B, upper=upper, left=left, unitriangular=unitriangular)


cholesky_ex = kernel_op("linalg_cholesky_ex", "cholesky_ex", inputs="A", settings="upper", row_major=True)


@cholesky_ex.joint_vjp
def _(g, out_0, upper):
    L, gL = (mH(out_0), mH(g[0])) if upper else (out_0, g[0])
    phi = tril(product(mH(L), gL), diagonal=0)
    phi = (phi + mH(tril(phi, diagonal=-1))) / 2
    half = from_triangle(mH(L), phi, upper=True)
    return (from_triangle(L, half, left=False),)


@op
def cholesky_solve(k, B, L, *, upper):
    """X with ``A @ X = B``, given A's Cholesky triangle."""
    first = k.solve_triangular(mH(L) if upper else L, B, False, True, False)
    return k.solve_triangular(L if upper else mH(L), first, True, True, False)


@cholesky_solve.joint_vjp
def _(g, L, out, upper):
    """The gradient of the triangle is a full matrix, as in PyTorch."""
    B_grad = cholesky_solve(g, L, upper=upper)
    both = product(B_grad, mH(out))
    both = both + mH(both)
    return B_grad, -(product(L, both) if upper else product(both, L))


@op(row_major=True)
def cholesky_inverse(k, L, *, upper):
    half = k.solve_triangular(L, eye_like(L), upper, True, False)
    return k.matmul(half, mH(half)) if upper else k.matmul(mH(half), half)


@cholesky_inverse.joint_vjp
def _(g, L, out, upper):
    both = product(out, product(g + mH(g), out))
    return (-(product(L, both) if upper else product(both, L)),)


# (LU, pivots, info).
lu_factor_ex = kernel_op("linalg_lu_factor_ex", "lu_factor", inputs="A")

permutation_matrix = kernel_op("permutation_matrix", inputs="pivots", settings="size, dtype")


@lu_factor_ex.joint_vjp
def _(g, out):
    LU, pivots, _ = out
    m, n = LU.shape[-2:]
    k = min(m, n)
    L, U = unit_lower(LU, k), triu(head(LU, k, n), diagonal=0)
    gL, gU = tril(head(g[0], m, k), diagonal=-1), triu(head(g[0], k, n), diagonal=0)
    L1, U1 = head(L, k, k), head(U, k, k)
    lower, upper = product(mH(L1), head(gL, k, k)), product(head(gU, k, k), mH(U1))
    if m > k:
        upper = upper - product(mH(below(L, k)), below(gL, k))
    if n > k:
        lower = lower - product(beside(gU, k), mH(beside(U, k)))
    inner = tril(lower, diagonal=-1) + triu(upper, diagonal=0)
    inner = from_triangle(mH(L1), inner, upper=True, unitriangular=True)
    grad = from_triangle(mH(U1), inner, left=False)
    if m > k:
        grad = cat(grad, from_triangle(mH(U1), below(gL, k), left=False), axis=len(LU.shape) - 2)
    if n > k:
        grad = cat(grad, from_triangle(mH(L1), beside(gU, k), upper=True, unitriangular=True), axis=len(LU.shape) - 1)
    P = permutation_matrix(pivots, size=m, dtype=np_dtype(LU))
    return (product(P, grad),)


def np_dtype(x):
    return getattr(x.dtype, "np", x.dtype)


def unit_lower(LU, k):
    """The first k columns' lower triangle, with ones on the diagonal."""
    part = head(LU, None, k)
    return tril(part, diagonal=-1) + eye_like(part)


def below(x, k):
    return basic_index(x, key=(Ellipsis, slice(k, None), slice(None)))


def beside(x, k):
    return basic_index(x, key=(Ellipsis, slice(k, None)))


LDL = {"settings": "hermitian", "row_major": True, "node": "NotImplemented"}
# (LD, pivots, info)
ldl_factor_ex = kernel_op("linalg_ldl_factor_ex", "ldl_factor", inputs="A", **LDL)
ldl_factor_ex.vjp(A=undifferentiable("linalg_ldl_factor_ex"))

ldl_solve = kernel_op("linalg_ldl_solve", "ldl_solve", inputs="LD, pivots, B", **LDL)
ldl_solve.vjp(**dict.fromkeys(["LD", "B"], undifferentiable("linalg_ldl_solve")))
