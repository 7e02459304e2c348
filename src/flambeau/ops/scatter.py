"""Ops that read and write along one axis, each element by an index of its own. See ``into`` in ops/index.py."""

import math

import numpy as np

from ._op import op
from .index import back, masked_fill, rows
from .pointwise import cj
from .shape import basic_index, embed, zeros_like


@op(row_major=True)
def gather(k, x, index, *, axis):
    return back(k.gather(rows(x), rows(index), axis), index)


gather.vjp(x=lambda g, index, axis, x_shape: ungather(g, index, axis=axis, shape=x_shape))


@op(node="GatherBackward0")
def ungather(k, g, index, *, axis, shape):
    """Zeros to which g is added at `index` along `axis`."""
    return k.scatter(k.zeros(shape or (1,), g.dtype), rows(index), rows(g), axis, "add", True).reshape(shape)


ungather.vjp(g=lambda g, index, axis: gather(g, index, axis=axis))


@op(row_major=True, scalar_node="ScatterBackward1")
def scatter(k, x, src, index, *, axis, into=False):
    return put_along(k, x, src, index, axis, None, into)


@op(row_major=True)
def scatter_add(k, x, src, index, *, axis, into=False):
    return put_along(k, x, src, index, axis, "add", into)


@op(node="ScatterBackward2", row_major=True)
def scatter_multiply(k, x, src, index, *, axis, into=False):
    return put_along(k, x, src, index, axis, "prod", into)


@scatter_multiply.joint_vjp
def _(g):
    raise RuntimeError("derivative for scatter with reduce='multiply' is not implemented; use "
                       "scatter_reduce(dim, index, src, reduce='prod')")


def put_along(k, x, src, index, axis, how, into):
    """k.scatter, also for 0-dimensional tensors and numeric sources."""
    if hasattr(src, "ndim") and x.ndim == 0:
        src = rows(src)
    return back(k.scatter(rows(x), rows(index), src, axis, how, into), x)


scatter.vjp(
    x=lambda g, index, axis: scatter(g, 0, index, axis=axis),
    src=lambda g, index, axis, src_shape: from_corner(gather(g, index, axis=axis), src_shape),
)

scatter_add.vjp(
    x=lambda g: g,
    src=lambda g, index, axis, src_shape: from_corner(gather(g, index, axis=axis), src_shape),
)


def from_corner(g, shape):
    """A gradient for the used elements of the source: its first ones along each axis."""
    if tuple(g.shape) == tuple(shape):
        return g
    return embed(g, key=tuple(slice(0, n) for n in g.shape), shape=shape)


# ---- reductions into x: sum, mean, prod, amax, amin


def neutral(dtype, reduce):
    """The neutral element of a reduction."""
    if reduce in ("amax", "amin"):
        low = reduce == "amax"
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return limits.min if low else limits.max
        return not low if dtype.kind == "b" else -math.inf if low else math.inf
    return 1 if reduce == "prod" else 0


def _reduction(name):
    """``scatter_reduce`` and ``index_reduce``, which differ only in the node name."""

    def forward(k, x, src, index, *, axis, reduce, include_self):
        how = "add" if reduce in ("sum", "mean") else reduce
        start = x if include_self else put_along(k, x, neutral(x.dtype, reduce), index, axis, None, False)
        out = put_along(k, start, src, index, axis, how, not include_self)
        if reduce != "mean":
            return out
        count = k.ones(x.shape, x.dtype)
        if not include_self:
            count = put_along(k, count, 0, index, axis, None, True)
        count = put_along(k, count, k.ones(index.shape, x.dtype), index, axis, "add", True)
        return k.floor_divide(out, count) if x.dtype.kind in "iu" else out / count

    spec = op(forward, name=name, opmath=True, row_major=True)

    @spec.joint_vjp
    def _(g, x, src, index, out, axis, reduce, include_self, needs):
        used = src if tuple(src.shape) == tuple(index.shape) else corner(src, index.shape)
        gx, gsrc = REDUCED[reduce](g, x, used, index, out, axis, include_self)
        if needs[0] and not include_self:
            gx = scatter(gx, 0, index, axis=axis)
        return gx, from_corner(gsrc, src.shape), None

    return spec


def corner(src, shape):
    """The used elements of the source: its first ones along each axis."""
    return basic_index(src, key=tuple(slice(0, n) for n in shape))


scatter_reduce = _reduction("scatter_reduce")
index_reduce = _reduction("index_reduce")


def ones_like(x):
    return zeros_like(x) + 1


def total(of_x, of_src, index, axis, include_self):
    """For each element of the result, the sum of the given values of its sources."""
    if not include_self:
        of_x = scatter(of_x, 0, index, axis=axis)
    return scatter_add(of_x, of_src, index, axis=axis)


def sum_grads(g, x, src, index, out, axis, include_self):
    return g, gather(g, index, axis=axis)


def mean_grads(g, x, src, index, out, axis, include_self):
    g = g / total(ones_like(x), ones_like(src), index, axis, include_self)
    return g, gather(g, index, axis=axis)


def prod_grads(g, x, src, index, out, axis, include_self):
    """The product of the other elements: of all nonzero ones, divided by the element, if no other one is zero."""
    zero_x, zero_src = x == 0, src == 0
    safe_x, safe_src = masked_fill(x, 1, zero_x), masked_fill(src, 1, zero_src)
    product = scatter_reduce(safe_x, safe_src, index, axis=axis, reduce="prod", include_self=include_self)
    zeros = total(zero_x * ones_like(x), zero_src * ones_like(src), index, axis, include_self)
    to_x = g * cj(product / safe_x) * (zeros == zero_x)
    to_src = gather(g * cj(product), index, axis=axis) / cj(safe_src) * (gather(zeros, index, axis=axis) == zero_src)
    return to_x, to_src


def extreme_grads(g, x, src, index, out, axis, include_self):
    """The elements that equal the maximum or minimum share the gradient."""
    hit_x = (x == out) * ones_like(x)
    hit_src = (src == gather(out, index, axis=axis)) * ones_like(src)
    g = g / total(hit_x, hit_src, index, axis, include_self)
    return g * hit_x, gather(g, index, axis=axis) * hit_src


REDUCED = {"sum": sum_grads, "mean": mean_grads, "prod": prod_grads, "amax": extreme_grads, "amin": extreme_grads}
