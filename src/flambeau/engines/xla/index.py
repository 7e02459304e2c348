"""The XLA twins of the kernels in ``engines/numpy/index.py``.

In a compiled program a mask must not decide the shape of a result.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..._layout import contiguous_strides
from ..numpy.index import TAKE_RANGE
from . import engine
from ._require import within


def index_key(x, indices, dims):
    """The key with `indices` at the dimensions `dims` of x, and slices at all others."""
    key = [slice(None)] * (dims[-1] + 1)
    for d, i in zip(dims, indices, strict=True):
        within(i, x.shape[d], d, wraps=True)
        key[d] = i
    return tuple(key)


@engine.kernel
def new_dims(x, key):
    return x[key]


@engine.kernel
def index(x, indices, dims):
    return x[index_key(x, indices, dims)]


@engine.kernel
def index_put(x, indices, dims, values, accumulate, into=False):
    if len(indices) == 1 and indices[0].dtype == bool and jnp.ndim(values) == 0:
        return put_masked(x, indices[0], dims[0], values, accumulate)
    at = x.at[index_key(x, indices, dims)]
    values = jnp.asarray(values, x.dtype)
    return at.add(values) if accumulate else at.set(values)


def put_masked(x, mask, dim, value, accumulate):
    """Stores one value where a mask is set, without shapes that depend on the mask."""
    mask = mask.reshape((1,) * dim + mask.shape + (1,) * (x.ndim - dim - mask.ndim))
    return jnp.where(mask, x + value if accumulate else value, x).astype(x.dtype)


@engine.kernel
def unindex(g, indices, dims, shape):
    zeros = jnp.zeros(shape, g.dtype)
    return zeros.at[index_key(zeros, indices, dims)].add(g)


@engine.kernel
def without_row(index, rows, number):
    """The rows, with zeros at the excluded index: shapes must not depend on indices."""
    return index, jnp.where((index != number)[:, None], rows, 0)


@engine.kernel
def index_select(x, index, axis):
    within(index, x.shape[axis], axis)
    return jnp.take(x, index, axis=axis)


@engine.kernel
def index_add(x, index, source, axis, alpha, into=False):
    within(index, x.shape[axis], axis, error=IndexError if x.ndim == 1 else RuntimeError)
    return x.at[index_key(x, (index,), (axis,))].add((source * alpha).astype(x.dtype))


@engine.kernel
def index_copy(x, index, source, axis, into=False):
    within(index, x.shape[axis], axis)
    return x.at[index_key(x, (index,), (axis,))].set(source)


@engine.kernel
def take_flat(x, index):
    within(index, x.size, 0, wraps=True, message=TAKE_RANGE)
    return x.reshape(-1)[index]


@engine.kernel
def put_flat(x, index, source, accumulate, into=False):
    within(index, x.size, 0, wraps=True, message=TAKE_RANGE)
    at = x.reshape(-1).at[index.reshape(-1)]
    source = jnp.asarray(source, x.dtype).reshape(-1)
    return (at.add(source) if accumulate else at.set(source)).reshape(x.shape)


@engine.kernel
def masked_fill(x, mask, value, into=False):
    return jnp.where(mask, jnp.asarray(value, x.dtype), x)


@engine.kernel
def masked_select(x, mask):
    """A mask that is constant in a trace stays a NumPy array: it determines the shape of the result."""
    shape = jnp.broadcast_shapes(x.shape, mask.shape)
    lib = jnp if isinstance(mask, jax.core.Tracer) else np
    return jnp.broadcast_to(x, shape)[lib.broadcast_to(mask, shape)]


def place_in_order(mask):
    """For each element under the mask, the number of such elements before it."""
    return jnp.cumsum(mask.reshape(-1)).reshape(mask.shape) - 1


@engine.kernel
def masked_scatter(x, mask, source, into=False):
    x, mask = jnp.broadcast_arrays(x, mask)
    if not source.size:
        return x
    return jnp.where(mask, source.reshape(-1)[jnp.clip(place_in_order(mask), 0, source.size - 1)], x)


@engine.kernel
def masked_pack(x, mask, shape):
    x, mask = jnp.broadcast_arrays(x, mask)
    size = math.prod(shape)
    place = jnp.where(mask, place_in_order(mask), size)  # out of bounds: dropped
    return jnp.zeros(size, x.dtype).at[place].set(x, mode="drop").reshape(shape)


@engine.kernel
def filled_diagonal(x, value, wrap):
    end = x.size if wrap or x.ndim > 2 else min(x.size, x.shape[1] * x.shape[1])
    step = sum(contiguous_strides(x.shape))
    return x.reshape(-1).at[jnp.arange(0, end, step)].set(value).reshape(x.shape)
