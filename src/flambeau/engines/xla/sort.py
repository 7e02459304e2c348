"""The XLA twins of the kernels in ``engines/numpy/sort.py``."""

import jax
import jax.numpy as jnp
import numpy as np

from .. import NUMPY
from . import engine


@engine.kernel
def sorting_order(x, axis, descending, stable):
    if x.ndim == 0:
        return jnp.zeros((), int)
    if not descending:
        return jnp.argsort(x, axis=axis, stable=stable)
    return x.shape[axis] - 1 - jnp.flip(jnp.argsort(jnp.flip(x, axis), axis=axis, stable=True), axis)


@engine.kernel
def top_order(x, count, axis, largest, sorted):
    return jax.lax.slice_in_dim(sorting_order(x, axis, largest, True), 0, count, axis=axis)


def _select(x, rank, axis, keepdims):
    """The element at a position of the sorted order, and its index."""
    order = jnp.argsort(x, axis=axis, stable=True)
    index = jnp.take_along_axis(order, rank, axis)
    values = jnp.take_along_axis(x, index, axis)
    return (values, index) if keepdims else (values.squeeze(axis), index.squeeze(axis))


def _ones_at(x, axis):
    return tuple(1 if i == axis else n for i, n in enumerate(x.shape))


@engine.kernel
def select_ranked(x, rank, axis, keepdims):
    return _select(x, jnp.full(_ones_at(x, axis), rank), axis, keepdims)


@engine.kernel
def select_median(x, axis, keepdims, ignore_nan):
    n = x.shape[axis]
    numbers = jnp.sum(x == x, axis=axis, keepdims=True)
    if ignore_nan:
        rank = jnp.maximum(numbers - 1, 0) // 2
    else:
        rank = jnp.where(numbers == n, (n - 1) // 2, jnp.minimum(numbers, n - 1))
    return _select(x, rank, axis, keepdims)


@engine.kernel
def select_mode(x, axis, keepdims):
    values = jnp.sort(x, axis=axis)
    n = x.shape[axis]
    place = jnp.arange(n).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    before = jnp.roll(values, 1, axis)
    starts = (values != before) | (place == 0)
    length = place - jax.lax.cummax(jnp.where(starts, place, 0), axis)
    return _select(x, jnp.argmax(length, axis=axis, keepdims=True), axis, keepdims)


@engine.kernel
def search_rows(boundaries, values, side):
    def search(edges, v):
        return jnp.searchsorted(edges, v, side=side)

    if boundaries.ndim == 1:
        return search(boundaries, values)
    rows = (x.reshape(-1, x.shape[-1]) for x in (boundaries, values))
    return jax.vmap(search)(*rows).reshape(values.shape)


@engine.kernel
def distinct(x, axis):
    """Computed on the host, since the shape of the result depends on the elements."""
    return tuple(map(jnp.asarray, NUMPY.distinct(np.asarray(x), axis)))


@engine.kernel
def distinct_runs(x, axis):
    return tuple(map(jnp.asarray, NUMPY.distinct_runs(np.asarray(x), axis)))
