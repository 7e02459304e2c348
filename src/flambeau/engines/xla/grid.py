"""The XLA twins of the kernels in ``engines/numpy/grid.py``."""

import jax
import jax.numpy as jnp

from . import engine


@engine.kernel
def sum_places(x, index, weights):
    return jnp.einsum("nctp,ntp->ncp", at_places(x, index), weights, precision=jax.lax.Precision.HIGHEST)


@engine.kernel
def spread_places(g, index, weights, size):
    def add(values, places, factors):
        return jnp.zeros((g.shape[1], size), g.dtype).at[:, places].add(values[:, None] * factors, mode="drop")

    return jax.vmap(add)(g, jnp.where(index < 0, size, index), weights)


@engine.kernel
def dot_places(g, x, index):
    found = jnp.einsum("ncp,nctp->ntp", g, at_places(x, index), precision=jax.lax.Precision.HIGHEST)
    return jnp.where(index < 0, 0, found)


def at_places(x, index):
    found = jax.vmap(lambda values, places: values[:, places])(x, jnp.maximum(index, 0))
    return jnp.where(index[:, None] < 0, 0, found)
