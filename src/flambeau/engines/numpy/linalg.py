"""Matrix products and decompositions that NumPy lacks, or that need other semantics."""

import math

import numpy as np

from ..._dtypes import FIRST_HALF
from .. import NUMPY as engine

_FEW = 1024  # elements up to which a copy and an addition are faster than a broadcast


@engine.kernel
def matmul(a, b):
    """np.matmul; half precision is multiplied in float32 and rounded once."""
    if a.dtype.num < FIRST_HALF:
        # The same BLAS call, but dot has a third of the overhead.
        return a.dot(b) if a.ndim <= 2 and b.ndim <= 2 else np.matmul(a, b, order="C")
    return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)


@engine.kernel
def add_product(multiply, x, a, b, beta, alpha):
    """``beta * x + alpha * multiply(a, b)``; with beta 0, x is ignored."""
    dtype = a.dtype
    if dtype.num >= FIRST_HALF:
        wide = (n.astype(np.float32) for n in (x, a, b))
        return add_product(multiply, *wide, beta, alpha).astype(dtype)
    if dtype.kind in "biu":
        beta, alpha = dtype.type(beta), dtype.type(alpha)
    out = multiply(a, b)
    if alpha != 1:
        out = out * alpha
    if beta == 0:
        return out
    return np.add(out, x if beta == 1 else x * beta, out=out)


@engine.kernel
def linear(x, weight, bias, finish=None):
    if finish is not None:
        return engine.finish(engine.linear(x, weight, bias), finish)
    shape = x.shape
    if len(shape) != 2:
        x = x.reshape(math.prod(shape[:-1]), shape[-1])
    out = x.dot(weight.T)
    if bias is not None:
        if out.size <= _FEW:
            wide = np.empty_like(out)
            wide[...] = bias
            bias = wide
        np.add(out, bias, out)
    return out if len(shape) == 2 else out.reshape(*shape[:-1], weight.shape[0])


# ---- solving


_BLOCK = 64  # the block size of blocked algorithms


@engine.kernel
def inv_ex(a):
    """The inverses, and for each matrix 0 or the number of the pivot that is zero; its inverse is then nan."""
    return each_matrix(np.linalg.inv, zero_pivot, a)


@engine.kernel
def solve_ex(a, b, left):
    """X with ``a @ X = b`` (or ``X @ a = b``), and the info of ``inv_ex``."""
    if not left:
        x, info = solve_ex(a.swapaxes(-1, -2), b.swapaxes(-1, -2), True)
        return x.swapaxes(-1, -2), info
    try:
        return np.linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        inverse, info = inv_ex(a)
        return np.matmul(inverse, b), info


@engine.kernel
def cholesky_ex(a, upper):
    """The Cholesky factors, and for each matrix 0 or the order of the first leading minor that is not positive."""
    if upper:
        factor, info = cholesky_ex(a.swapaxes(-1, -2).conj(), False)
        return factor.swapaxes(-1, -2).conj(), info
    return each_matrix(np.linalg.cholesky, bad_minor, a)


def each_matrix(function, diagnose, a):
    """function(a) with an info of zeros; if it fails, it is applied per matrix: NaN and an error code for invalid ones.
    """
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        return function(a), info
    except np.linalg.LinAlgError:
        out = np.full_like(a, np.nan)
        for i in np.ndindex(info.shape):
            try:
                out[i] = function(a[i])
            except np.linalg.LinAlgError:
                info[i] = diagnose(a[i])
        return out, info


def zero_pivot(matrix):
    """The number of the first pivot of the LU factorization that is zero, or of the last if rounding hid it.

    None if there is a NaN, which LAPACK may treat as a zero.
    """
    return 0 if np.isnan(matrix).any() else int(lu_factor(matrix)[2]) or matrix.shape[-1]


@engine.kernel
def det(a):
    """The determinants; NaN for a matrix with a NaN, for which LAPACK may return zero."""
    found = np.asarray(np.linalg.det(a))
    return found if np.all(found) else np.where(np.isnan(a).any(axis=(-2, -1)), found.dtype.type(np.nan), found)


@engine.kernel
def slogdet(a):
    """The signs, and the logarithms of the absolute values, of the determinants; nan as in ``det``."""
    sign, size = map(np.asarray, np.linalg.slogdet(a))
    if np.all(sign):
        return sign, size
    return sign, np.where(np.isnan(a).any(axis=(-2, -1)), size.dtype.type(np.nan), size)


def bad_minor(matrix):
    for order in range(1, matrix.shape[-1] + 1):
        try:
            np.linalg.cholesky(matrix[:order, :order])
        except np.linalg.LinAlgError:
            return order
    return matrix.shape[-1]


@engine.kernel
def solve_triangular(a, b, upper, left, unitriangular):
    """X with ``a @ X = b`` for triangular a, block by block. Zeros on the diagonal give inf, as in LAPACK."""
    if not left:
        flip = solve_triangular(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, True, unitriangular)
        return flip.swapaxes(-1, -2)
    n = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    starts = range(0, n, _BLOCK)
    for start in reversed(starts) if upper else starts:
        stop = min(start + _BLOCK, n)
        here, rest = slice(start, stop), slice(0, start) if upper else slice(stop, n)
        block = np.triu(a[..., here, here]) if upper else np.tril(a[..., here, here])
        if unitriangular:
            np.einsum("...ii->...i", block)[...] = 1
        x[..., here, :] = solve_block(block, x[..., here, :], upper)
        x[..., rest, :] -= np.matmul(a[..., rest, here], x[..., here, :])
    return x


def solve_block(block, b, upper):
    try:
        return np.linalg.solve(block, b)
    except np.linalg.LinAlgError:
        return substitute(block, np.array(b), upper)


def substitute(block, x, upper):
    """Back (or forward) substitution, which continues if the diagonal is zero."""
    n = block.shape[-1]
    for i in reversed(range(n)) if upper else range(n):
        x[..., i, :] /= block[..., i, i, None]
        rest = slice(0, i) if upper else slice(i + 1, n)
        x[..., rest, :] -= block[..., rest, i, None] * x[..., None, i, :]
    return x


# ---- LU


@engine.kernel
def lu_factor(a):
    """(LU, pivots, info): L and U in one matrix, the pivots counted from one, info as in ``inv_ex``."""
    *batch, m, n = a.shape
    lu = np.array(a).reshape(math.prod(batch), m, n)
    k = min(m, n)
    pivots = np.zeros((len(lu), k), np.int32)
    info = np.zeros(len(lu), np.int32)
    for start in range(0, k, _BLOCK):
        stop = min(start + _BLOCK, k)
        factor_panel(lu, pivots, info, start, stop)
        if stop < n:
            here = slice(start, stop)
            lu[:, here, stop:] = solve_triangular(lu[:, here, here], lu[:, here, stop:], False, True, True)
            lu[:, stop:, stop:] -= np.matmul(lu[:, stop:, here], lu[:, here, stop:])
    return lu.reshape(a.shape), pivots.reshape(*batch, k), info.reshape(batch)


def factor_panel(lu, pivots, info, start, stop):
    """Factors columns start to stop, swapping whole rows. All matrices of the batch take each step together."""
    every = np.arange(len(lu))
    for j in range(start, stop):
        column = lu[:, j:, j]
        size = np.abs(column.real) + np.abs(column.imag) if lu.dtype.kind == "c" else np.abs(column)
        best = j + size.argmax(axis=1)
        pivots[:, j] = best + 1
        lu[every, j], lu[every, best] = lu[every, best], lu[every, j]
        pivot = lu[:, j, j]
        zero = pivot == 0
        info[zero & (info == 0)] = j + 1
        lu[:, j + 1:, j] /= np.where(zero, 1, pivot)[:, None]
        lu[:, j + 1:, j + 1:stop] -= lu[:, j + 1:, j, None] * lu[:, j, None, j + 1:stop]


@engine.kernel
def permutation_matrix(pivots, m, dtype):
    """The matrices P with ``A = P L U`` for LU pivots."""
    *batch, k = pivots.shape
    swaps = pivots.reshape(math.prod(batch), k).astype(np.int64) - 1
    order = np.tile(np.arange(m), (len(swaps), 1))
    every = np.arange(len(swaps))
    for i in range(k):
        order[every, i], order[every, swaps[:, i]] = order[every, swaps[:, i]], order[every, i]
    out = np.zeros((len(swaps), m, m), dtype)
    np.put_along_axis(out, order[:, None, :], 1, axis=1)
    return out.reshape(*batch, m, m)


# ---- other functions of a matrix


@engine.kernel
def eig(a):
    complex_type = np.result_type(a.dtype, np.complex64)
    values, vectors = np.linalg.eig(a)
    return values.astype(complex_type, copy=False), vectors.astype(complex_type, copy=False)


@engine.kernel
def householder(a):
    """LAPACK's compact QR: R above, the Householder vectors below the diagonal, and their factors."""
    reflectors, tau = np.linalg.qr(a, mode="raw")
    return np.ascontiguousarray(reflectors.swapaxes(-1, -2)), tau


# Padé numerator of exp of degree 13; the denominator has the same coefficients with alternating signs.
_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
         10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)


@engine.kernel
def matrix_exp(a):
    """exp of each matrix: halved until small, Padé's approximation, squared back."""
    if a.size == 0:
        return np.array(a)
    wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    norm = np.abs(wide).sum(axis=-2).max(initial=0)
    squarings = max(0, math.ceil(math.log2(norm / 5.4))) if 0 < norm < math.inf else 0
    x = wide / 2**squarings
    even, odd, power = 0, 0, np.broadcast_to(np.eye(a.shape[-1]), x.shape)
    square = np.matmul(x, x)
    for i in range(0, len(_PADE), 2):
        even, odd = even + _PADE[i] * power, odd + _PADE[i + 1] * power
        power = np.matmul(power, square)
    odd = np.matmul(x, odd)
    out = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        out = np.matmul(out, out)
    return out.astype(a.dtype)
