"""The XLA twins of the kernels in ``engines/numpy/grid.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from . import engine


@engine.kernel
def sum_places(x, index, weights):
    return jnp.einsum("nctp,ntp->ncp", at_places(x, index), weights, precision=jax.lax.Precision.HIGHEST)


@engine.kernel
def spread_places(g, index, weights, size):
    def add(values, places, factors):
        return jnp.zeros((g.shape[1], size), g.dtype).at[:, places].add(values[:, None] * factors)

    return jax.vmap(add)(g, index, weights)


@engine.kernel
def dot_places(g, x, index):
    return jnp.einsum("ncp,nctp->ntp", g, at_places(x, index), precision=jax.lax.Precision.HIGHEST)


def at_places(x, index):
    return jax.vmap(lambda values, places: values[:, places])(x, index)
