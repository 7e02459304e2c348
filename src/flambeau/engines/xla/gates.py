"""Kernels of activations."""

from __future__ import annotations

import jax.numpy as jnp

from . import engine


@engine.kernel
def softplus(x, beta, threshold):
    scaled = x * beta
    return jnp.where(scaled > threshold, x, jnp.log1p(jnp.exp(jnp.minimum(scaled, threshold))) / beta)
