"""Reductions: sums, products, moments, extrema.

``axis`` is None (all dimensions), an int, or a tuple of ints counted from the front. PyTorch names the graph
nodes of a reduction of everything and of one along dimensions differently: some forwards are declared twice.
"""

import math

from .._dtypes import int64, is_inexact
from .._size import broadcasts
from . import pointwise as pw
from ._op import kernel_op, op
from .scatter import gather
from .shape import cast, expand, reshape

INT64 = int64.np


def keepdims_shape(shape, axis):
    """`shape` with the reduced axes as ones; axis None means all of them."""
    if axis is None:
        return (1,) * len(shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def count_reduced(shape, axis):
    """The number of elements in each result of a reduction."""
    if axis is None:
        return math.prod(shape)
    return math.prod([shape[i] for i in (axis if isinstance(axis, tuple) else (axis,))])


def spread(g, shape, axis):
    """A gradient of a reduced tensor, expanded along the reduced axes."""
    keep_dims = keepdims_shape(shape, axis)
    return expand(g if not g.shape or g.shape == keep_dims else reshape(g, shape=keep_dims), shape=shape)


def keep_dims(y, shape, axis):
    """A result of a reduction with the reduced axes as ones: it broadcasts against the input."""
    return reshape(y, shape=keepdims_shape(shape, axis))


# ---- sums


def node_of(name):
    """PyTorch numbers the nodes of some reductions: 0 over all elements, 1 along given dimensions."""
    whole, along = f"{name}Backward0", f"{name}Backward1"
    return lambda axis: whole if axis is None else along


sum_ = kernel_op("sum", inputs="x", settings="axis, keepdims, dtype=None", by_name=True, node=node_of("Sum"),
                 row_major=True)
sum_.vjp(x=lambda g, x_shape, axis: spread(g, x_shape, axis))


def sum_to(x, shape):
    """Sums over the dimensions that broadcasting from `shape` to x's shape expanded."""
    lead = len(x.shape) - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1)
    if axes:
        x = sum_(x, axis=axes, keepdims=True)
    return reshape(x, shape=tuple(shape)) if lead else x


def fit(x, shape, dtype):
    """A gradient summed to the shape, and cast to the dtype, of its value, if it broadcasts."""
    if x.shape != shape and broadcasts(shape, x.shape):
        x = sum_to(x, shape)
    return x if x.dtype == dtype else cast(x, dtype=dtype)


# The sum of all elements, common for losses: its call is faster without settings.
whole_sum = kernel_op("whole_sum", "total", inputs="x", promote="common", opmath=False, node="SumBackward0")
whole_sum.vjp(x=lambda g, x_shape: spread(g, x_shape, None))

mean = kernel_op("mean", inputs="x", settings="axis, keepdims, dtype=None", by_name=True, node=node_of("Mean"),
                 row_major=True)
mean.vjp(x=lambda g, x_shape, axis: mean_pull(g, x_shape, axis))


def mean_pull(g, shape, axis):
    return spread(g / max(count_reduced(shape, axis), 1), tuple(shape), axis)


@op(refuses="c", row_major=True)
def nansum(k, x, *, axis, keepdims, dtype=None):
    fold = k.sum_of_numbers if is_inexact(x.dtype) else k.sum
    return fold(x, axis=axis, keepdims=keepdims, dtype=dtype)


nansum.vjp(x=lambda g, x, axis: spread(g, tuple(x.shape), axis) * (x == x))


@op(row_major=True)
def count_nonzero(k, x, *, axis):
    return k.sum(x != 0, axis=axis, dtype=INT64)


all_ = kernel_op("all", inputs="x", settings="axis, keepdims", by_name=True, row_major=True)

any_ = kernel_op("any", inputs="x", settings="axis, keepdims", by_name=True, row_major=True)

# ---- products

prod = kernel_op("prod", inputs="x", settings="axis, keepdims, dtype=None", by_name=True, node=node_of("Prod"),
                 row_major=True)


@prod.joint_vjp
def _(g, x, axis):
    if not x.shape:
        return (g,)
    if axis is None:
        return (reshape(g, shape=(1,) * len(x.shape)) * pw.cj(others_of_all(x)),)
    return (keep_dims(g, x.shape, axis) * pw.cj(others(x, axis)),)


def others(x, axis):
    """The product of all other elements along an axis, correct for zeros, and differentiable.

    Half precision is multiplied in float32, in which the products of some of them do not overflow.
    """
    from .scan import cumprod  # which imports this file

    if not len(x.shape):
        return x * 0 + 1
    if pw.numpy_dtype(x).itemsize < pw.FLOAT32.itemsize:
        x = cast(x, dtype=pw.FLOAT32)
    before = cumprod(shift(x, axis=axis, by=1, fill=1), axis=axis, reverse=False)
    after = cumprod(shift(x, axis=axis, by=-1, fill=1), axis=axis, reverse=True)
    return before * after


def others_of_all(x):
    flat = reshape(x, shape=(math.prod(x.shape),))
    return reshape(others(flat, 0), shape=tuple(x.shape))


@op(row_major=True)
def shift(k, x, *, axis, by, fill):
    """The elements moved by one along an axis, with `fill` as the new one."""
    if x.shape[axis] == 0:
        return x
    edge = list(x.shape)
    edge[axis] = 1
    edge = k.full(edge, fill, dtype=x.dtype)
    rest = [slice(None)] * x.ndim
    rest[axis] = slice(None, -1) if by > 0 else slice(1, None)
    rest = x[tuple(rest)]
    return k.concatenate([edge, rest] if by > 0 else [rest, edge], axis=axis)


shift.vjp(x=lambda g, axis, by: shift(g, axis=axis, by=-by, fill=0))


# ---- moments

var = kernel_op("var", "variance", inputs="x", settings="axis, keepdims, correction", opmath=True, row_major=True)
var.vjp(x=lambda g, x, axis, correction: var_pull(g, x, axis, correction))


def var_pull(g, x, axis, correction):
    shape = tuple(x.shape)
    freedom = count_reduced(shape, axis) - correction
    away = x - mean(x, axis=axis, keepdims=True)
    if freedom <= 0 and (axis is None or not shape):
        return keep_dims(g, shape, axis) * pw.where(away == 0, math.nan, math.inf)
    return keep_dims(g * (2 / freedom if freedom else math.inf), shape, axis) * away


std = kernel_op("std", "deviation", inputs="x", settings="axis, keepdims, correction", opmath=True, row_major=True)
std.vjp(x=lambda g, x, out, axis, correction: var_pull(over(g, out * 2), x, axis, correction))


def moments_pull(pull, g_mean, x, axis):
    """The gradient of a mean and of a variance or deviation, whose vjp is `pull`; each may be None if unused."""
    found = None if g_mean is None else mean_pull(g_mean, x.shape, axis)
    return found if pull is None else pull if found is None else pull + found


@op(opmath=True, row_major=True, takes_undefined=True)
def var_mean(k, x, *, axis, keepdims, correction):
    return k.variance(x, axis, keepdims, correction), k.mean(x, axis=axis, keepdims=keepdims)


var_mean.vjp(x=lambda g, x, axis, correction: (
    moments_pull(None if g[0] is None else var_pull(g[0], x, axis, correction), g[1], x, axis)
))


@op(opmath=True, row_major=True, takes_undefined=True)
def std_mean(k, x, *, axis, keepdims, correction):
    return k.deviation(x, axis, keepdims, correction), k.mean(x, axis=axis, keepdims=keepdims)


std_mean.vjp(x=lambda g, x, out_0, axis, correction: (
    moments_pull(None if g[0] is None else var_pull(over(g[0], out_0 * 2), x, axis, correction), g[1], x, axis)
))


@op
def over(k, x, y):
    """x / y, and zero where y is zero: for the gradient of a root at zero."""
    return k.where(y == 0, k.zeros((), x.dtype), x / k.where(y == 0, k.ones((), y.dtype), y))


over.vjp(x=lambda g, y: over(g, pw.cj(y)), y=lambda g, y, out: over(-g * pw.cj(out), pw.cj(y)))


# ---- extrema: the gradient goes to all elements that are extreme, in equal parts


def highest(k, x, *, axis, keepdims):
    return k.max(x, axis=axis, keepdims=keepdims)


def lowest(k, x, *, axis, keepdims):
    return k.min(x, axis=axis, keepdims=keepdims)


amax = op(highest, name="amax", opmath=True, refuses="c", row_major=True)
amin = op(lowest, name="amin", opmath=True, refuses="c", row_major=True)
max_all = op(highest, name="max", node="MaxBackward1", opmath=True, refuses="c")
min_all = op(lowest, name="min", node="MinBackward1", opmath=True, refuses="c")
for spec in (amax, amin):
    spec.vjp(x=lambda g, x, out, axis: to_equals(g, x, out, axis))
for spec in (max_all, min_all):
    spec.vjp(x=lambda g, x, out, axis: to_ties(g, x, out, axis))


def to_ties(g, x, out, axis, share=None):
    """The gradient of a maximum or minimum, shared by the elements that attain it."""
    shape = tuple(x.shape)
    return keep_dims(g, shape, axis) * (share or ties)(x, keep_dims(out, shape, axis), axis=axis)


@op
def ties(k, x, extreme, *, axis):
    """The share of each element of x in the gradient of `extreme`."""
    hit = (x == extreme) | ((x != x) & (extreme != extreme))
    count = k.maximum(k.sum(hit, axis=axis, keepdims=True), 1)  # none if x was modified without being noticed
    return hit.astype(x.dtype) / count.astype(x.dtype)


def to_equals(g, x, out, axis):
    """``to_ties``, with a gradient of nan if no element is equal, since the result is nan."""
    return to_ties(g, x, out, axis, equals)


@op
def equals(k, x, extreme, *, axis):
    """The share of each element of x in the gradient of `extreme`; nan if no element is equal."""
    hit = x == extreme
    count = k.sum(hit, axis=axis, keepdims=True)
    return k.where(count == 0, math.nan, hit.astype(x.dtype) / k.maximum(count, 1).astype(x.dtype))


@op(opmath=True, refuses="c", row_major=True)
def aminmax(k, x, *, axis, keepdims):
    return k.min(x, axis=axis, keepdims=keepdims), k.max(x, axis=axis, keepdims=keepdims)


aminmax.vjp(x=lambda g, x, out, axis: to_equals(g[0], x, out[0], axis) + to_equals(g[1], x, out[1], axis))

argmax = kernel_op("argmax", inputs="x", settings="axis, keepdims", by_name=True, opmath=True, row_major=True)

argmin = kernel_op("argmin", inputs="x", settings="axis, keepdims", by_name=True, opmath=True, row_major=True)

# ---- selections: ops that return (values, indices), the gradient goes to the selected elements


def selection(forward=None, /, **options):
    """Declares an op that selects one element along ``axis``, and returns values and indices."""
    if forward is None:
        return lambda f: selection(f, **options)
    spec = op(forward, opmath=True, **options, row_major=True)
    spec.vjp(x=lambda g, out_1, axis, x_shape: place(
        keep_dims(g[0], x_shape, axis), keep_dims(out_1, x_shape, axis), axis=axis, shape=tuple(x_shape)
    ))
    return spec


@selection(node="MaxBackward0", refuses="c")
def max_dim(k, x, *, axis, keepdims):
    return k.max(x, axis=axis, keepdims=keepdims), k.argmax(x, axis=axis, keepdims=keepdims)


@selection(node="MinBackward0", refuses="c")
def min_dim(k, x, *, axis, keepdims):
    return k.min(x, axis=axis, keepdims=keepdims), k.argmin(x, axis=axis, keepdims=keepdims)


# Zeros of `shape` with g at `index` along an axis, where no index comes twice.
place = kernel_op("place", "put_along", inputs="g, index", settings="axis, shape", node="ScatterBackward0")
place.vjp(g=lambda g, index, axis: gather(g, index, axis=axis))
