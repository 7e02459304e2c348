"""Ops that copy elements: to another dtype or memory order, or over the elements of a tensor."""

from __future__ import annotations

from ._op import op
from .shape import zeros_like


@op
def to_copy(k, x, *, dtype, format):
    """The elements in a NumPy dtype and a memory format; the engine converts the gradient back."""
    return k.copy_as(x, dtype, format)


to_copy.vjp(x=lambda g: g)


@op(node="CloneBackward0")
def clone_as(k, x, *, format):
    """A copy in a memory format."""
    return k.copy_as(x, x.dtype, format)


clone_as.vjp(x=lambda g: g)


@op(node="CopyBackwards")
def copy_over(k, x, src):
    """`src` in the shape and dtype of `x`: what stands in `x` after ``x.copy_(src)``."""
    return k.copy_as(k.broadcast_to(src, x.shape), x.dtype)


copy_over.vjp(x=lambda g: zeros_like(g), src=lambda g: g)


@op
def zero(k, x):
    return k.zeros_like(x)


zero.vjp(x=lambda g: zeros_like(g))


@op(node="FillBackward0")
def fill(k, x, *, value):
    """`value`, a number, in the shape of `x`."""
    return k.full_like(x, value)


fill.vjp(x=lambda g: zeros_like(g))


@op(node="FillBackward1")
def fill_from(k, x, value):
    """The element of a zero-dimensional tensor in the shape of `x`."""
    return k.copy_as(k.broadcast_to(value, x.shape), x.dtype)


fill_from.vjp(x=lambda g: zeros_like(g), value=lambda g: g)
