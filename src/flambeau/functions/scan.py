"""Functions along a dimension: cumulative sums and extrema, differences, gradients, integrals."""

import functools
import math

from .. import _dtypes
from .._dtypes import is_inexact, type_word
from .._tensor import Tensor
from ..ops import scan as ops
from ..ops.join import cat
from ..ops.shape import basic_index, reshape, reshape_shared
from ._args import dim_in_range, dims_in_range, need_tensor
from ._attach import inplace_methods, methods
from ._folds import along, numpy_names, with_sum_dtype
from ._out import out_variant, own, same
from ._results import selections
from ._types import typed

__all__ = [
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "gradient", "logcumsumexp", "trapezoid",
    "trapz",
]

BAD_INPLACE = "{name}_(): Bad in-place call: input tensor dtype {own} and output tensor dtype {asked} should match"
DIFF_SHAPES = "diff expects the shape of tensor to prepend or append to match that of input: {other}, {own}"

_RESULTS = selections("cummax", "cummin")


@numpy_names
@out_variant(dtype=own)
def cumsum(input, dim, *, dtype=None):
    """The cumulative sum along ``dim``; integers and booleans accumulate in int64."""
    return _running(ops.cumsum, input, dim, dtype, "cumsum")


@numpy_names
@out_variant(dtype=own)
def cumprod(input, dim, *, dtype=None):
    """The cumulative product along ``dim``; integers and booleans accumulate in int64."""
    return _running(ops.cumprod, input, dim, dtype, "cumprod")


def _running(op, input, dim, dtype, name):
    need_tensor(input, name)
    axis = dim_in_range(dim, input._a.ndim)
    if dtype is _dtypes.bool_:
        if input._a.ndim and input._a.size:
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'; leave dtype= out to use int64")
        return input != 0
    input, dtype = with_sum_dtype(input, dtype)
    return op(input, axis=axis, reverse=False, dtype=dtype)


@numpy_names
@out_variant(dtype=same)
def logcumsumexp(input, dim):
    """The cumulative ``logsumexp`` along ``dim``."""
    need_tensor(input, "logcumsumexp")
    axis = dim_in_range(dim, input._a.ndim)
    if not is_inexact(input._a.dtype):
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{type_word(input.dtype)}'; use .float()"
        )
    return ops.logcumsumexp(input, axis=axis, reverse=False)


@numpy_names
@out_variant(dtype=same)
def cummax(input, dim):
    """The cumulative maximum along ``dim``, and the index of its last occurrence."""
    return _extremes(ops.cummax, input, dim, "cummax")


@numpy_names
@out_variant(dtype=same)
def cummin(input, dim):
    """The cumulative minimum along ``dim``, and the index of its last occurrence."""
    return _extremes(ops.cummin, input, dim, "cummin")


def _extremes(op, input, dim, name):
    need_tensor(input, name)
    axis = dim_in_range(dim, input._a.ndim) if math.prod(input._a.shape) else 0  # an empty tensor's dim is not checked
    return _RESULTS[name](along(op, input, axis=axis))


# ---- differences


def part(x, axis, start, stop):
    """A slice of x along an axis, as a view."""
    return basic_index(x, key=(slice(None),) * axis + (slice(start, stop),))


@numpy_names
@out_variant
@typed(n=int)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The ``n``-th differences of neighbours along ``dim``."""
    need_tensor(input, "diff")
    if input._a.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = dim_in_range(dim, input._a.ndim)
    ends = [end for end in (prepend, append) if end is not None]
    for end in ends:
        _check_end(end, input, axis)
    if ends and n:
        input = cat(*[t for t in (prepend, input, append) if t is not None], axis=axis)
    size = input._a.shape[axis]
    if n == 0:
        return input.clone()
    if n >= size:
        return part(input, axis, 0, 0) if size else input
    for _ in range(n):
        late, early = part(input, axis, 1, None), part(input, axis, None, -1)
        input = late ^ early if input._a.dtype.kind == "b" else late - early
    return input


def _check_end(end, input, axis):
    need_tensor(end, "diff", "prepend")
    own, other = input._a.shape, end._a.shape
    if len(own) != len(other):
        raise RuntimeError(
            f"diff expects prepend or append to be the same dimension as input: {list(other)}, {list(own)}"
        )
    if any(a != b for i, (a, b) in enumerate(zip(own, other, strict=True)) if i != axis):
        raise RuntimeError(DIFF_SHAPES.format(other=list(other), own=list(own)))


# ---- slopes


@numpy_names
def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The gradient of `input`, sampled values, along each dimension (or those in ``dim``), as a tuple.

    Args:
        spacing: the distance between samples, one number per dimension, or a tensor of coordinates per dimension.
        edge_order: 1 or 2, the order of accuracy at the two ends.
    """
    need_tensor(input, "gradient")
    if input._a.dtype.char == "B":
        raise RuntimeError("torch.gradient does not support uint8 input; convert it to a signed dtype")
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}.")
    axes = range(input._a.ndim) if dim is None else dims_in_range(dim, input._a.ndim) or ()
    if isinstance(spacing, (tuple, list)):
        if len(spacing) != len(axes):
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or a sequence with one for each dim, but "
                f"got a spacing argument of length {len(spacing)} for {len(axes)} dimension(s)"
            )
    else:
        if isinstance(spacing, Tensor) and spacing._a.ndim:
            raise TypeError("gradient(): the points of each dimension are given in a tuple: spacing=(x,)")
        spacing = [1 if spacing is None else spacing] * len(axes)
    return tuple([_slope(input, axis, step, edge_order) for axis, step in zip(axes, spacing)])


def _slope(y, axis, step, order):
    size = y._a.shape[axis]
    if size < order + 1:
        raise RuntimeError(
            f"torch.gradient expected each dimension size to be at least edge_order+1 = {order + 1}, but dimension "
            f"{axis} has {size}"
        )
    if isinstance(step, Tensor) and step._a.ndim:
        if step.device != y.device:
            raise RuntimeError(
                f"torch.gradient expected each tensor to be on the same device, but got devices {y.device} and "
                f"{step.device}"
            )
        if step._a.shape != (size,):
            raise RuntimeError(f"torch.gradient expected {size} points for dimension {axis}, got {list(step._a.shape)}")
        width = reshape(diff(step), shape=(size - 1, *(1,) * (y._a.ndim - 1 - axis)))
        widths = [part(width, 0, i, j) for i, j in ((None, -1), (1, None), (0, 1), (1, 2), (-2, -1), (-1, None))]
    else:
        widths = [step] * 6

    def at(start, stop):
        return part(y, axis, start, stop)

    before, after, first, second, last_but_one, last = widths
    inner = (at(2, None) - at(None, -2)) / (2 * step) if before is step else (
        at(2, None) * (before / (after * (before + after))) - at(None, -2) * (after / (before * (before + after)))
        + at(1, -1) * ((after - before) / (before * after))
    )
    if order == 1:
        return cat((at(1, 2) - at(0, 1)) / first, inner, (at(-1, None) - at(-2, -1)) / last, axis=axis)
    left, right = _end(at(0, 1), at(1, 2), at(2, 3), first, second), _end(
        at(-1, None), at(-2, -1), at(-3, -2), last, last_but_one)
    return cat(left, inner, -right, axis=axis)


def _end(y0, y1, y2, near, far):
    """The slope at the first of three points of the parabola through them."""
    both = near + far
    return y1 * (both / (near * far)) - y0 * ((near + both) / (near * both)) - y2 * (near / (far * both))


# ---- integrals


@numpy_names
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral along ``dim`` by the trapezoidal rule, over points ``x`` or with spacing ``dx``."""
    areas = _areas(y, x, dx, dim, "trapezoid")
    if not y._a.shape[dim]:
        return y.detach().sum(dim, dtype=y.dtype)  # as in PyTorch, a constant
    if isinstance(x, Tensor):
        return areas.sum(dim)
    axis = dim_in_range(dim, y._a.ndim)
    ends = (y.select(axis, 0) + y.select(axis, -1)) * 0.5
    return (y.sum(axis) - ends) * (1 if dx is None else dx)


@numpy_names
def trapz(y, x=None, *, dx=None, dim=-1):
    """Alias of ``trapezoid``."""
    return trapezoid(y, x, dx=dx, dim=dim)


@numpy_names
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The cumulative integral along ``dim``; see ``trapezoid``."""
    return cumsum(_areas(y, x, dx, dim, "cumulative_trapezoid"), dim)


def _areas(y, x, dx, dim, name):
    """The area over each interval; rejects booleans as PyTorch does."""
    need_tensor(y, name, "y")
    if x is not None:
        need_tensor(x, name, "x", 2)
    if (isinstance(x, Tensor) and x._a.dtype.kind == "b") or y._a.dtype.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `y` or `x`, but bool is not supported")
    axis = dim_in_range(dim, y._a.ndim)
    if y._a.ndim == 0:
        raise IndexError(f"{name}: y is a scalar; it must have at least one dimension")
    heights = part(y, axis, 1, None) + part(y, axis, None, -1)
    if x is None:
        return heights * ((1 if dx is None else dx) / 2)
    if x._a.ndim == 0:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    if x._a.ndim < y._a.ndim:
        if x._a.shape[-1] != y._a.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        trailing = y._a.ndim - 1 - axis
        x = reshape_shared(x, (*x._a.shape, *(1,) * trailing)) if x._a.ndim == 1 else x
    across = axis - y._a.ndim + x._a.ndim
    widths = part(x, across, 1, None) - part(x, across, None, -1)
    return heights * widths / 2


def in_input_dtype(function):
    """The in-place variant of a function: computes in the dtype of the tensor, which ``dtype=`` must match."""

    @functools.wraps(function)
    def compute(input, dim, *, dtype=None):
        if dtype is not None and dtype is not input.dtype:
            raise RuntimeError(BAD_INPLACE.format(name=function.__name__, own=input.dtype, asked=dtype))
        return function.method(input, dim, dtype=input.dtype)

    del compute.method
    compute.check = lambda input, dim, *, dtype=None: dim_in_range(dim, input._a.ndim)
    return compute


methods(cummax, cummin, cumprod, cumsum, diff, logcumsumexp)
inplace_methods(in_input_dtype(cumprod), in_input_dtype(cumsum))
