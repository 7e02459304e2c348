"""The XLA twins of the kernels in ``engines/numpy/base.py``. Arrays are immutable: a write creates a new one."""

import jax.numpy as jnp

from .._views import value_of
from . import engine
from .lazy import LazyArray, graph_of, record, record_call


@engine.immediate
def cast(x, dtype):
    return x if x.dtype == dtype else x.astype(dtype)


@engine.immediate
def broadcast_to(x, shape):
    return x if x.shape == shape else record(jnp.broadcast_to, (x, shape), {})


@engine.kernel
def accumulate(into, x):
    return (into + x).astype(into.dtype)


@engine.immediate
def fill(into, value):
    return overwrite(into, jnp.full, into.shape, value, into.dtype)


@engine.immediate
def write(into, x):
    x = value_of(x)
    if type(x) is LazyArray and x.shape == into.shape and x.dtype == into.dtype and not x.aval.weak:
        return x
    return overwrite(into, broadcast_as, x, into.shape, into.dtype)


def broadcast_as(x, shape, dtype):
    return jnp.broadcast_to(x, shape).astype(dtype)


def overwrite(into, make, *args):
    """The result of `make`, replacing an array whose elements are not read: an error may have made them unreadable."""
    return record_call(make, args, {}, graph_of([value_of(into)]))[0]


@engine.kernel
def embed(g, key, shape):
    return jnp.zeros(shape, g.dtype).at[key].set(g)


@engine.kernel
def put_key(x, key, value):
    """x with `value` at a basic key."""
    return x.at[key].set(value)


@engine.kernel
def reshape_view(x, shape):
    return jnp.reshape(x, shape)


@engine.kernel
def put_view(base, view_of, value):
    """`base` with `value` in a view of it, which is found by viewing the indices of the elements."""
    places = view_of(jnp.arange(base.size).reshape(base.shape))
    value = jnp.broadcast_to(value, places.shape)
    return base.reshape(-1).at[places.reshape(-1)].set(value.reshape(-1)).reshape(base.shape)
