"""Ops that fold dimensions: sums, extrema, moments."""

from __future__ import annotations

from ._op import op
from .shape import expand, reshape


def keepdims_shape(shape, axis):
    """`shape` with the reduced axes as ones; axis None means all of them."""
    if axis is None:
        return (1,) * len(shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def spread(g, shape, axis):
    """A gradient of a reduced tensor, repeated along the axes that were reduced away."""
    return expand(reshape(g, shape=keepdims_shape(shape, axis)), shape=shape)


@op(name="sum", opmath=True)
def sum_(k, x, *, axis, keepdims):
    return k.sum(x, axis=axis, keepdims=keepdims)


sum_.vjp(x=lambda g, x_shape, axis: spread(g, x_shape, axis))
