"""The XLA twin of the kernel in ``engines/numpy/upsampling.py``."""

import jax.numpy as jnp

from . import engine


@engine.kernel
def resample(x, tables):
    lead = x.ndim - len(tables)
    for axis, table in enumerate(tables, lead):
        if table is not None:
            x = resample_axis(x, *table, axis)
    return x


def resample_axis(x, index, weights, axis):
    x = jnp.take(x, jnp.maximum(index, 0), axis)
    if weights is not None:
        index, weights = [taps.reshape(*taps.shape, *[1] * (x.ndim - axis - 2)) for taps in (index, weights)]
        x = jnp.where(index < 0, 0, x * weights.astype(x.dtype))
    return x.sum(axis, dtype=x.dtype)
