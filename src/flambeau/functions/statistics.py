"""Medians, modes, quantiles and covariances."""

import warnings

import numpy as np

from .._device import META
from .._dtypes import is_inexact, type_word
from .._modes import in_use
from .._tensor import Tensor
from ..ops import elementary as el
from ..ops import pointwise as pw
from ..ops import sort as ops
from ..ops.matmul import mH, product
from ..ops.reduce import mean, sum_
from ..ops.scatter import gather
from ..ops.shape import basic_index, cast, expand, permute, reshape, reshape_shared
from ._args import dim_in_range, need_tensor, tensor_on
from ._attach import methods
from ._autocast import autocast
from ._folds import along, numpy_names, one_dim
from ._out import out_variant, same
from ._results import rename_node, selections

__all__ = ["corrcoef", "cov", "median", "mode", "nanmedian", "nanquantile", "quantile"]

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
FREEDOM = "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."

_RESULTS = selections("median", "mode", "nanmedian")


# ---- by rank


@numpy_names
@out_variant(dtype=same, needs="dim")
def median(input, dim=None, keepdim=False):
    """The median, the lower one of two; with ``dim`` also its index. NaN propagates."""
    return _median(ops.median, ops.median_dim, input, dim, keepdim, "median")


@numpy_names
@out_variant(dtype=same, needs="dim")
def nanmedian(input, dim=None, keepdim=False):
    """The median of the elements that are not NaN; see ``median``."""
    return _median(ops.nanmedian, ops.nanmedian_dim, input, dim, keepdim, "nanmedian")


def _median(whole, select, input, dim, keepdim, name):
    need_tensor(input, name)
    if dim is None:
        return whole(input)
    return _RESULTS[name](along(select, input, axis=one_dim(input, dim, name, keepdim), keepdims=keepdim))


@numpy_names
@out_variant(dtype=same)
def mode(input, dim=-1, keepdim=False):
    """The most frequent element along ``dim``, the smallest of ties, and its last index."""
    need_tensor(input, "mode")
    return _RESULTS["mode"](along(ops.mode, input, axis=one_dim(input, dim, "mode", keepdim), keepdims=keepdim))


@numpy_names
@out_variant(dtype=same)
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The ``q``-quantiles of all elements or along ``dim``; several ``q`` add a leading dimension."""
    return _quantile(input, q, dim, keepdim, interpolation, False)


@numpy_names
@out_variant(dtype=same)
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """``quantile`` of the elements that are not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True)


def _quantile(input, q, dim, keepdim, interpolation, ignore_nan):
    need_tensor(input, "quantile")
    q = _checked_q(input, q, interpolation)
    a = input._a
    axis = None if dim is None else dim_in_range(dim, a.ndim)
    if q.device is not META and not ((q._a >= 0) & (q._a <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if axis is None or a.ndim == 0:
        rows, lead = reshape_shared(input, (a.size,)), ()
    else:
        others = [i for i in range(a.ndim) if i != axis]
        rows, lead = permute(input, axes=(*others, axis)), tuple(a.shape[i] for i in others)
    found = _at_ranks(rows, reshape_shared(q, (q._a.size,)), interpolation, ignore_nan)
    found = permute(found, axes=(len(lead), *range(len(lead))))  # moves the quantiles to the front
    if keepdim:
        lead = (1,) * a.ndim if axis is None else tuple(1 if i == axis else n for i, n in enumerate(a.shape))
    return rename_node(reshape(found, shape=(*q._a.shape, *lead)), "SqueezeBackward4")


def _checked_q(input, q, interpolation):
    """`q` as a tensor; reports the same error first as PyTorch."""
    if not isinstance(q, Tensor):
        if not isinstance(q, (int, float, np.number)):
            raise TypeError(f"quantile(): argument 'q' (position 2) must be float or Tensor, not {type(q).__name__}")
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q}")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"quantile() interpolation must be one of {', '.join(INTERPOLATIONS)}, but got {interpolation}"
        )
    dtype = input._a.dtype
    if not input._a.size:
        raise RuntimeError(f"quantile() input tensor must be non-empty, but its shape is {list(input.shape)}")
    if isinstance(q, Tensor) and q._a.ndim > 1:
        raise RuntimeError(f"quantile() q must be a scalar or 1D tensor, not of shape {list(q.shape)}")
    if dtype.char not in "fd":
        raise RuntimeError(f"quantile() input tensor must be either float or double dtype, not {input.dtype}")
    if not isinstance(q, Tensor):
        return tensor_on(np.asarray(q, dtype), input.device)
    if q._a.dtype != dtype:
        raise RuntimeError(
            f"quantile() q tensor must be same dtype as the input tensor: {q.dtype} against {input.dtype}"
        )
    return q


def _at_ranks(rows, q, interpolation, ignore_nan):
    """The quantiles q along the last dimension of `rows`, which is replaced by one of q."""
    n, ndim = rows._a.shape[-1], rows._a.ndim
    ordered = ops.sort(rows, axis=ndim - 1, descending=False, stable=False)[0]
    numbers = sum_(~pw.isnan(rows), axis=ndim - 1, keepdims=True)
    if ignore_nan:
        ranks = q * pw.clamp_min(numbers - 1, 0)
    else:
        ranks = pw.where(numbers < n, tensor_on(np.asarray(n - 1, rows._a.dtype), rows.device), q * (n - 1))
    if interpolation == "lower":
        return _at(ordered, pw.floor(ranks))
    if interpolation == "higher":
        return _at(ordered, pw.ceil(ranks))
    if interpolation == "nearest":
        return _at(ordered, pw.round_(ranks))
    below = pw.floor(ranks)
    weight = ranks - below if interpolation == "linear" else ranks * 0 + 0.5
    return pw.lerp(_at(ordered, below), _at(ordered, pw.ceil(ranks)), weight)


def _at(ordered, ranks):
    index = cast(ranks, dtype=np.dtype(np.int64))
    lead, last = ordered._a.shape[:-1], index._a.shape[-1]
    return gather(ordered, expand(index, shape=(*lead, last)), axis=len(lead))


# ---- covariance


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of the rows (variables), whose columns are observations, optionally weighted."""
    need_tensor(input, "cov")
    a = input._a
    if a.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {a.ndim} dimensions"
        )
    if a.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if a.ndim == 2 else reshape_shared(input, (1, a.size))
    rows, n = x._a.shape
    f = _weights(fweights, n, "fweights", "integral")
    w = _weights(aweights, n, "aweights", "floating point")
    if not is_inexact(x._a.dtype):
        x = x * 1.0
    away, scaled, freedom = _deviations(x, f, w, correction)
    if not freedom > 0:
        warnings.warn(FREEDOM, UserWarning, stacklevel=2)
        freedom = tensor_on(np.zeros((), away._a.real.dtype), input.device)
    if in_use.autocast:
        away, scaled = autocast("mm", away, scaled)
    found = product(away, mH(scaled)) / freedom
    return reshape(found, shape=()) if rows == 1 else found


def _deviations(x, f, w, correction):
    """The deviations from the mean, these times the weights, and the degrees of freedom."""
    if f is None and w is None:
        away = x - mean(x, axis=1, keepdims=True)
        return away, away, x._a.shape[1] - correction
    weights = f if w is None else w if f is None else f * w
    total = sum_(weights, axis=None, keepdims=False)
    less = correction if w is None else correction * sum_(weights * w, axis=None, keepdims=False) / total
    away = x - sum_(x * weights, axis=1, keepdims=True) / total
    return away, away * weights, total - less


def _weights(weights, n, name, kind):
    """Checked weights of the observations, or None."""
    if weights is None:
        return None
    a = weights._a
    if a.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {a.ndim} dimensions"
        )
    if (a.dtype.kind not in "iu") if kind == "integral" else not is_inexact(a.dtype):
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {type_word(weights.dtype)} "
            "dtype"
        )
    if a.size != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{a.size} != {n}"
        )
    if a.size and a.min() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return weights


def corrcoef(input):
    """The correlation coefficients of the rows (variables), whose columns are observations."""
    need_tensor(input, "corrcoef")
    if input._a.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input._a.ndim} dimensions"
        )
    c = cov(input)
    if c._a.ndim == 0:
        return c / c
    n = c._a.shape[0]
    deviation = el.sqrt(pw.real(basic_index(reshape(c, shape=(n * n,)), key=(slice(None, None, n + 1),))))
    c = c / reshape(deviation, shape=(n, 1)) / deviation
    return c if c._a.dtype.kind == "c" else pw.clamp(c, -1, 1)


methods(corrcoef, cov, median, mode, nanmedian, nanquantile, quantile)
