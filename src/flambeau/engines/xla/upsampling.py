"""The XLA twin of the kernel in ``engines/numpy/upsampling.py``."""

from __future__ import annotations

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
    x = jnp.take(x, index, axis)
    if weights is not None:
        x = x * weights.astype(x.dtype).reshape(*weights.shape, *[1] * (x.ndim - axis - 2))
    return x.sum(axis, dtype=x.dtype)
