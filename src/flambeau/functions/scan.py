"""Functions that run along a dimension: running sums and extrema, differences, trapezoids."""

from __future__ import annotations

from .._dtypes import type_word
from .._tensor import Tensor
from ..ops import scan as ops
from ..ops.join import cat
from ..ops.shape import basic_index, reshape
from ._args import dim_in_range, need_tensor, write_out
from ._attach import inplace_methods, methods
from ._folds import added_in, along, numpy_names
from ._results import selections

__all__ = [
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "logcumsumexp", "trapezoid",
    "trapz",
]

DIFF_SHAPES = "diff expects the shape of tensor to prepend or append to match that of input: {other}, {own}"

_RESULTS = selections("cummax", "cummin")


@numpy_names
def cumsum(input, dim, *, dtype=None, out=None):
    """The sums of the elements so far along ``dim``; integers and booleans add up in int64."""
    return _running(ops.cumsum, input, dim, dtype, out, "cumsum")


@numpy_names
def cumprod(input, dim, *, dtype=None, out=None):
    """The products of the elements so far along ``dim``; integers and booleans multiply in int64."""
    return _running(ops.cumprod, input, dim, dtype, out, "cumprod")


def _running(op, input, dim, dtype, out, name):
    need_tensor(input, name)
    exact = dtype is not None
    input, dtype = added_in(input, dtype, out)
    found = op(input, axis=dim_in_range(dim, input._a.ndim), reverse=False, dtype=dtype)
    return found if out is None else write_out(out, found, name, exact_dtype=exact)


@numpy_names
def logcumsumexp(input, dim, *, out=None):
    """The logarithms of the sums of exponentials so far along ``dim``."""
    need_tensor(input, "logcumsumexp")
    if input._a.dtype.num < 11:
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{type_word(input.dtype)}'; use .float()"
        )
    found = ops.logcumsumexp(input, axis=dim_in_range(dim, input._a.ndim), reverse=False)
    return found if out is None else write_out(out, found, "logcumsumexp", exact_dtype=True)


@numpy_names
def cummax(input, dim, *, out=None):
    """The largest elements so far along ``dim``, and where each was met last."""
    return _extremes(ops.cummax, input, dim, out, "cummax")


@numpy_names
def cummin(input, dim, *, out=None):
    """The smallest elements so far along ``dim``, and where each was met last."""
    return _extremes(ops.cummin, input, dim, out, "cummin")


def _extremes(op, input, dim, out, name):
    need_tensor(input, name)
    found = _RESULTS[name](along(op, input, axis=dim_in_range(dim, input._a.ndim)))
    return found if out is None else write_out(out, found, name, exact_dtype=True)


# ---- differences


def part(x, axis, start, stop):
    """A slice of x along an axis, as a view."""
    return basic_index(x, key=(slice(None),) * axis + (slice(start, stop),))


@numpy_names
def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """The differences of neighbours along ``dim``, taken ``n`` times."""
    need_tensor(input, "diff")
    if input._a.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = dim_in_range(dim, input._a.ndim)
    ends = [end for end in (prepend, append) if end is not None]
    for end in ends:
        _check_end(end, input, axis)
    if ends:
        input = cat(*[t for t in (prepend, input, append) if t is not None], axis=axis)
    n = min(n, input._a.shape[axis])
    found = part(input, axis, 0, 0) if n and n == input._a.shape[axis] else input
    if found is input:
        for _ in range(n):
            late, early = part(found, axis, 1, None), part(found, axis, None, -1)
            found = late ^ early if found._a.dtype.kind == "b" else late - early
        if not n:
            found = input.clone()
    return found if out is None else write_out(out, found, "diff")


def _check_end(end, input, axis):
    need_tensor(end, "diff", "prepend")
    own, other = input._a.shape, end._a.shape
    if len(own) != len(other):
        raise RuntimeError(
            f"diff expects prepend or append to be the same dimension as input: {list(other)}, {list(own)}"
        )
    if any(a != b for i, (a, b) in enumerate(zip(own, other, strict=True)) if i != axis):
        raise RuntimeError(DIFF_SHAPES.format(other=list(other), own=list(own)))


# ---- integrals


@numpy_names
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral along ``dim`` by the trapezoid rule, over points ``x`` or with spacing ``dx``."""
    areas = _areas(y, x, dx, dim, "trapezoid")
    return areas.sum(dim)


@numpy_names
def trapz(y, x=None, *, dx=None, dim=-1):
    """Alias of ``trapezoid``."""
    return trapezoid(y, x, dx=dx, dim=dim)


@numpy_names
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integrals up to each point along ``dim``; see ``trapezoid``."""
    return cumsum(_areas(y, x, dx, dim, "cumulative_trapezoid"), dim)


def _areas(y, x, dx, dim, name):
    """The area over each interval, for booleans refused as PyTorch does."""
    need_tensor(y, name, "y")
    if (isinstance(x, Tensor) and x._a.dtype.kind == "b") or y._a.dtype.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `y` or `x`, but bool is not supported")
    axis = dim_in_range(dim, y._a.ndim)
    if y._a.ndim == 0:
        raise IndexError(f"{name}: y is a scalar; it must have at least one dimension")
    heights = part(y, axis, 1, None) + part(y, axis, None, -1)
    if x is None:
        return heights * ((1 if dx is None else dx) / 2)
    if not isinstance(x, Tensor):
        return heights * (x / 2)
    if x._a.ndim == 0:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    if x._a.ndim < y._a.ndim:
        if x._a.shape[-1] != y._a.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        trailing = y._a.ndim - 1 - axis
        x = reshape(x, shape=(*x._a.shape, *(1,) * trailing)) if x._a.ndim == 1 else x
    across = axis - y._a.ndim + x._a.ndim
    widths = part(x, across, 1, None) - part(x, across, None, -1)
    return heights * widths / 2


methods(cummax, cummin, cumprod, cumsum, diff, logcumsumexp)
inplace_methods(cumprod, cumsum)
