"""Ops that move, view or copy elements without changing them."""

from __future__ import annotations

import math

import numpy as np

from ._op import op


@op(view=True, node="AliasBackward0")
def alias(k, x):
    return x[...]


alias.vjp(x=lambda g: g)


@op(node="ToCopyBackward0")
def cast(k, x, *, dtype):
    """Elements converted to a NumPy dtype; the engine converts the gradient back."""
    if x.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        x = x.real
    return k.cast(x, dtype)


cast.vjp(x=lambda g: g)


@op
def clone(k, x):
    return k.copy(x)


clone.vjp(x=lambda g: g)


@op
def zeros_like(k, x):
    return k.zeros_like(x)


@op(view=True)
def view(k, x, *, shape):
    return k.reshape_view(x, shape)


view.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


@op
def reshape(k, x, *, shape):
    """Always a new tensor: the public ``reshape`` views where it can."""
    return k.reshape(x, shape)


reshape.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


@op(view=True)
def expand(k, x, *, shape):
    return k.broadcast_to(x, shape)


expand.vjp(x=lambda g: g)  # the engine sums what was broadcast


@op(view=True)
def permute(k, x, *, axes):
    return k.transpose(x, axes)


permute.vjp(x=lambda g, axes: permute(g, axes=inverse_permutation(axes)))


def inverse_permutation(axes):
    inverse = [0] * len(axes)
    for place, axis in enumerate(axes):
        inverse[axis] = place
    return tuple(inverse)


@op(view=True)
def basic_index(k, x, *, key):
    """x[key] for a key of integers, slices, None and Ellipsis: always a view."""
    return x[key]


basic_index.vjp(x=lambda g, key, x_shape: embed(g, key=key, shape=x_shape))


@op(node="SliceBackward0")
def embed(k, g, *, key, shape):
    """Zeros with g at `key`: what a gradient looks like from the other side of an index."""
    return k.embed(g, key, shape)


embed.vjp(g=lambda g, key: basic_index(g, key=key))


def sum_to(x, shape):
    """Adds up what broadcasting to x's shape from `shape` had repeated."""
    from .reduce import sum_

    lead = len(x.shape) - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1
    )
    if axes:
        x = sum_(x, axis=axes, keepdims=True)
    return reshape(x, shape=tuple(shape)) if lead else x


def numel(shape):
    return math.prod(shape)
