"""Norms, distances and comparisons of whole tensors."""

import math

import numpy as np

from .. import _dtypes
from .._dtypes import type_word
from .._modes import no_grad
from .._tensor import Tensor, wrap
from ..engines import engine_of
from ..ops import norm as ops
from ..ops import pointwise as pw
from ..ops._errors import broadcast_clash
from ..ops.index import index_select
from ..ops.reduce import sum_
from ..ops.shape import cast, expand, reshape_shared
from ._args import axis_of, dim_in_range, need_tensor
from ._attach import inplace_methods, methods
from ._binary import number
from ._folds import need_flag, numpy_names
from ._out import out_variant, same
from ._results import rename_node
from ._wrong_type import wrong_type
from .compare import tolerance
from .linalg.norm import matrix_norm, vector_norm

__all__ = ["allclose", "cdist", "cosine_similarity", "dist", "equal", "norm", "pdist", "renorm"]

COMPUTE_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@out_variant(dtype=same, aliases="any")
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The ``p``-norm of all elements or along ``dim``; "fro" means 2, "nuc" the sum of singular values."""
    need_tensor(input, "norm")
    need_flag(keepdim, "norm")
    if isinstance(p, str):
        return _named_norm(input, p, dim, keepdim, dtype)
    return vector_norm(input, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _named_norm(input, p, dim, keepdim, dtype):
    if p == "fro":
        dims = (dim,) if isinstance(dim, int) else dim
        if dims is not None and len(dims) > 2:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
        return vector_norm(input, 2, dims, keepdim, dtype=dtype)
    if p != "nuc":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


def dist(input, other, p=2):
    """The ``p``-norm of the difference."""
    need_tensor(input, "dist")
    difference = input - need_tensor(other, "dist", "other", 2)
    if not _dtypes.is_inexact(difference._a.dtype):
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{type_word(difference.dtype)} instead."
        )
    return vector_norm(difference, p)


@numpy_names
@out_variant(dtype=same)
def renorm(input, p, dim, maxnorm):
    """The input with each slice along ``dim`` scaled down to a ``p``-norm of at most ``maxnorm``."""
    need_tensor(input, "renorm")
    ndim, p, maxnorm = input._a.ndim, scalar(p, "p", 2), scalar(maxnorm, "maxnorm", 4)
    if not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    axis = dim_in_range(dim, ndim)
    norms = vector_norm(input, p, tuple(i for i in range(ndim) if i != axis), True)
    factor = pw.where(norms > maxnorm, maxnorm / (norms + 1e-7), _one(norms))
    return rename_node(input * factor, "RenormBackward0")


def scalar(value, argument, position):
    """Checks a real number, or a 0-dim tensor of one, passed to ``renorm``."""
    is_number = isinstance(value, Tensor) and not value._a.ndim and not value.requires_grad
    value = value.item() if is_number else number(value)
    if isinstance(value, complex):
        raise RuntimeError(f"renorm: {argument} must be real-valued, got {value}")
    if not isinstance(value, (int, float)):
        raise wrong_type(value, "Number", "renorm", argument, position)
    return value


def _one(like):
    return wrap(engine_of(like._a).ones_like(like._a))


# ---- pairs of tensors


@numpy_names
def cosine_similarity(x1, x2, dim=1, eps=1e-08):
    """The cosine of the angle between the vectors along ``dim``."""
    need_tensor(x1, "cosine_similarity", "x1")
    need_tensor(x2, "cosine_similarity", "x2", 2)
    common = _dtypes.promote_types(x1.dtype, x2.dtype)
    if common.category != _dtypes.FLOAT:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {type_word(common)}; convert "
            "with .float()"
        )
    x1, x2 = (x if x.dtype is common else cast(x, dtype=common.np) for x in (x1, x2))
    try:
        shape = np.broadcast_shapes(x1._a.shape, x2._a.shape)
    except ValueError:
        raise RuntimeError(f"cosine_similarity: {broadcast_clash((x1._a.shape, x2._a.shape))}") from None
    if not eps >= 0:
        raise RuntimeError(f"cosine_similarity: eps must be non-negative, got: {eps}")
    axis = axis_of(dim, len(shape))
    x1, x2 = (x if x._a.shape == shape else expand(x, shape=shape) for x in (x1, x2))
    norms = [vector_norm(x, 2, axis, True).clone() for x in (x1, x2)]
    with no_grad():  # as in PyTorch, eps does not affect gradients
        for norm in norms:
            norm.clamp_(min=eps)
    return sum_((x1 / norms[0]) * (x2 / norms[1]), axis=axis, keepdims=False)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The ``p``-norm distances between all rows of ``x1`` and of ``x2``, batched."""
    if compute_mode not in COMPUTE_MODES:
        raise ValueError(
            f"{compute_mode} is not a valid value for compute_mode; it is one of {', '.join(COMPUTE_MODES)}"
        )
    _check_rows(x1, x2, p)
    a, b = x1._a.shape, x2._a.shape
    if_necessary, always, _ = COMPUTE_MODES
    by_product = compute_mode == always or (compute_mode == if_necessary and max(a[-2], b[-2]) > 25)
    if p == 2 and by_product and a[-1]:
        return ops.euclidean_distances(x1, x2)
    rows = reshape_shared(x1, (*a[:-1], 1, a[-1]))
    columns = reshape_shared(x2, (*b[:-2], 1, *b[-2:]))
    difference = rows - columns
    last = difference._a.ndim - 1
    return rename_node(_length(difference, p, last), "CdistBackward0")


def _check_rows(x1, x2, p):
    for x, name in ((x1, "X1"), (x2, "X2")):
        need_tensor(x, "cdist", name.lower())
        if x._a.dtype.kind == "c" or not _dtypes.is_inexact(x._a.dtype):
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {type_word(x.dtype)}")
        if x._a.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x._a.ndim}D")
    if x1._a.shape[-1] != x2._a.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1._a.shape[-1]} X2: {x2._a.shape[-1]}"
        )
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {type_word(x1.dtype)} but found {type_word(x2.dtype)}")
    if not p >= 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got p={p}")


def pdist(input, p=2):
    """The ``p``-norm distance between every pair of rows."""
    need_tensor(input, "pdist")
    if input._a.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input._a.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError(f"pdist only supports floating-point dtypes, got {type_word(input.dtype)}")
    if not p >= 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got p={p}")
    first, second = np.triu_indices(input._a.shape[0], 1)
    difference = index_select(input, first, axis=0) - index_select(input, second, axis=0)
    return rename_node(_length(difference, p, 1), "PdistBackward0")


def _length(difference, p, axis):
    """The ``p``-norms of differences; for p = 0 the number of nonzeros, which propagates NaN and has zero gradients."""
    if p == math.inf and difference._a.shape[axis]:
        return ops.largest_difference(difference, axis=axis)
    if p and difference._a.shape[axis]:
        return ops.vector_norm(difference, ord=float(p), axis=axis, keepdims=False)
    return sum_(pw.clamp_max(pw.ceil(pw.abs_(difference)), 1), axis=axis, keepdims=False)


# ---- comparisons that return a Python bool


def equal(input, other):
    """Whether two tensors have the same shape and elements."""
    need_tensor(input, "equal")
    need_tensor(other, "equal", "other", 2)
    return input._a.shape == other._a.shape and bool((input._a == other._a).all())


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``|input - other| <= atol + rtol * |other|`` holds for all elements."""
    need_tensor(input, "allclose")
    need_tensor(other, "allclose", "other", 2)
    rtol, atol = tolerance(rtol, "allclose", "rtol"), tolerance(atol, "allclose", "atol")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{type_word(input.dtype)} did not match {type_word(other.dtype)}; convert one of them")
    return bool(pw.isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)._a.all())


def _norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """The ``p``-norm of all elements or along ``dim``; see ``flambeau.norm``."""
    return norm(self, p, dim, keepdim, dtype=dtype)


methods(allclose, dist, equal, renorm, norm=_norm)
inplace_methods(renorm)
