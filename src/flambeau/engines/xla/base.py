"""The XLA twins of the kernels in ``engines/numpy/base.py``. Arrays are immutable here: a write makes a new one."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from . import engine


@engine.kernel
def cast(x, dtype):
    return x.astype(dtype)


@engine.kernel
def as_array(x):
    return jnp.asarray(x)


@engine.kernel
def operand(x):
    """x as kernels here take it. NumPy's arrays are constants; masks stay as they are, for they may decide shapes."""
    return jnp.asarray(x) if type(x) is np.ndarray and x.dtype != bool else x


@engine.kernel
def accumulate(into, x):
    return (into + x).astype(into.dtype)


@engine.kernel
def write(into, x):
    return jnp.broadcast_to(x, into.shape).astype(into.dtype)


@engine.kernel
def embed(g, key, shape):
    return jnp.zeros(shape, g.dtype).at[key].set(g)


@engine.kernel
def reshape_view(x, shape):
    return jnp.reshape(x, shape)


@engine.kernel
def copy(x):
    return x


@engine.kernel
def put_view(base, view_of, value):
    """`base` with `value` in the place of a view: the places are found by viewing the indices of the elements."""
    places = view_of(jnp.arange(base.size).reshape(base.shape))
    value = jnp.broadcast_to(value, places.shape)
    return base.reshape(-1).at[places.reshape(-1)].set(value.reshape(-1)).reshape(base.shape)


@engine.kernel
def copy_like(x, like):
    return x
