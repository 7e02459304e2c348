"""Norms, condition and rank: part of ``flambeau.linalg``."""

import math

import numpy as np

from ... import _dtypes
from ...engines.levels import innermost
from ...ops.norm import vector_norm as vector_norm_op
from ...ops.pointwise import div, mul, where
from ...ops.reduce import amax, amin, sum_
from ...ops.shape import basic_index, cast, permute, reshape_shared
from ...ops.spectral import eigvalsh, svdvals
from .._args import as_int, as_number, axis_of, dim_in_range, need_tensor, np_dtype_of, tensor_on
from .._folds import numpy_names
from .._out import out_variant, same
from ._matrices import need_floating, need_matrices, word_of
from .solve import inv_ex, tolerances

NO_IDENTITY = (
    "linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have an "
    "identity"
)


def checked_dtype(x, dtype, name):
    """Casts x to the requested dtype, which may widen but not narrow."""
    if not _dtypes.is_inexact(x._a.dtype):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {word_of(x)}")
    if dtype is None:
        return x
    target = np_dtype_of(dtype)
    if not _dtypes.is_inexact(target):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {_dtypes.from_np(target)}")
    if (target.kind == "c") != (x._a.dtype.kind == "c"):
        kind = "complex" if x._a.dtype.kind == "c" else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype}")
    if _dtypes.promote_types(x.dtype, _dtypes.from_np(target)) is not _dtypes.from_np(target):
        raise RuntimeError(
            f"{name}: the dtype of the input ({word_of(x)}) should be convertible without narrowing to the specified "
            f"dtype ({dtype})"
        )
    return x if x._a.dtype == target else cast(x, dtype=target)


# ---- vectors


@numpy_names
@out_variant(dtype=same, aliases="any")
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of order ``ord`` of all elements, or along ``dim``."""
    need_tensor(x, "linalg_vector_norm", "x")
    ord = as_number(ord, "linalg_vector_norm", "ord")
    if isinstance(ord, complex):
        raise RuntimeError(f"linalg.vector_norm: Expected a non-complex scalar as the order of norm, got {ord}")
    x = checked_dtype(x, dtype, "linalg.vector_norm")
    axis = axis_of(dim, x._a.ndim)
    check_identity(x._a, ord, axis)
    return vector_norm_op(x, ord=float(ord), axis=axis, keepdims=keepdim)


def check_identity(a, ord, axis):
    """Raises if the norm of an empty dimension is undefined: it has no largest or smallest element."""
    if (ord >= 0 and ord != math.inf) or a.size:
        return
    if axis is None or any(a.shape[i] == 0 for i in axis):
        raise RuntimeError(NO_IDENTITY.format(ord=ord))


# ---- matrices


@numpy_names
@out_variant(dtype=same, aliases="any")
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of each matrix: "fro", "nuc", inf, -inf, 1, -1, 2 or -2."""
    name = "linalg.matrix_norm"
    need_matrices(A, name)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {dim}")
    rows, columns = (dim_in_range(d, A._a.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    A = checked_dtype(A, dtype, name)
    return _matrix_norm(A, ord, rows, columns, keepdim, name)


def _matrix_norm(A, ord, rows, columns, keepdim, name):
    if ord == "fro":
        return vector_norm_op(A, ord=2.0, axis=(rows, columns), keepdims=keepdim)
    if ord == "nuc" or ord in (2, -2):
        rest = [d for d in range(A._a.ndim) if d not in (rows, columns)]
        values = svdvals(need_floating(permute(A, axes=(*rest, rows, columns)), name))
        last = (values._a.ndim - 1,)
        found = sum_(values, axis=last, keepdims=False) if ord == "nuc" else extreme(values, ord, last, False)
        return reshape_shared(found, ones_at(A._a.shape, (rows, columns))) if keepdim else found
    if isinstance(ord, str) or ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm_op(A, ord=1.0, axis=(summed,), keepdims=True)
    found = extreme(sums, ord, (kept,), True)
    if keepdim:
        return found
    return reshape_shared(found, tuple(n for i, n in enumerate(A._a.shape) if i not in (rows, columns)))


def extreme(x, ord, axis, keepdims):
    """The maximum of x along an axis (a constant zero if empty), or the minimum for a negative order."""
    if x._a.shape[axis[0]]:
        return (amax if ord > 0 else amin)(x, axis=axis, keepdims=keepdims)
    if ord < 0:
        raise IndexError(f"amin(): Expected reduction dim {axis[0]} to have non-zero size: the matrix is empty")
    return sum_(x.detach(), axis=axis, keepdims=keepdims)


def ones_at(shape, axes):
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


@numpy_names
@out_variant(dtype=same, aliases="any")
def norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm or, given a pair of dims or a matrix and an order, a matrix norm. By default of all elements."""
    need_tensor(input, "linalg_norm", "A")
    if dim is not None and not isinstance(dim, (tuple, list)):
        dim = (as_int(dim, "linalg_norm", "dim"),)
    if dim is not None and ord is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and input._a.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
            f"Got {input._a.ndim}D."
        )
    as_matrix = ord is not None and (len(dim) == 2 if dim is not None else input._a.ndim == 2)
    if as_matrix or isinstance(ord, str):
        return matrix_norm(input, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


# ---- condition and rank


@out_variant(aliases="any")
def cond(A, p=None):
    """The condition number of each matrix in the norm ``p``: how much solving with it can amplify an error."""
    need_tensor(A, "linalg_cond", "A")
    if A._a.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    need_floating(A, "linalg.svd")
    if p is None or p in (2, -2):
        values = svdvals(A)
        if A._a.size == 0:
            found = tensor_on(np.zeros(A._a.shape[:-2], values._a.dtype), A.device)
        else:
            largest, smallest = (basic_index(values, key=(Ellipsis, i)) for i in (0, -1))
            found = div(smallest, largest) if p == -2 else div(largest, smallest)
    else:
        found = _cond_by_inverse(A, p)
    return found


def _cond_by_inverse(A, p):
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    m, n = A._a.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {m} by {n} matrices"
        )
    if A._a.size == 0:
        return tensor_on(np.zeros(A._a.shape[:-2], A.dtype.to_real().np), A.device)
    inverse, info = inv_ex(A)
    if not innermost(info._a).any():
        return mul(matrix_norm(A, p), matrix_norm(inverse, p))
    infinite = tensor_on(np.full(A._a.shape[:-2], math.inf, A.dtype.to_real().np), A.device)
    found = mul(matrix_norm(A, p), matrix_norm(inverse, p) if p != "nuc" else infinite)
    return where(info > 0, infinite, found)


@out_variant(aliases="any")
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """The number of singular values above ``max(atol, rtol * largest)``."""
    name = "torch.linalg.matrix_rank"
    need_matrices(A, name, "input")
    need_floating(A, name)
    if tol is not None:  # the older argument, an absolute tolerance
        atol, rtol = tol, 0.0
    A = A.detach()
    size = eigvalsh(A, uplo="L").abs() if hermitian else svdvals(A)
    if not size._a.shape[-1]:
        return size.new_zeros(size._a.shape[:-1], dtype=_dtypes.int64)
    atol, rtol = [t.to(A.device).unsqueeze(-1) for t in tolerances(A, atol, rtol, name)]
    return (size > (rtol * amax(size, axis=(-1,), keepdims=True)).maximum(atol)).sum(-1)


