"""Kernels of activations."""

from __future__ import annotations

import math

import jax.numpy as jnp

from . import engine

INV_SQRT_2 = math.sqrt(0.5)
INV_SQRT_TAU = 1 / math.sqrt(2 * math.pi)


@engine.kernel
def softplus(x, beta, threshold):
    scaled = x * beta
    return jnp.where(scaled > threshold, x, jnp.log1p(jnp.exp(jnp.minimum(scaled, threshold))) / beta)


@engine.kernel
def log_sigmoid(x):
    return jnp.minimum(x, 0) - jnp.log1p(jnp.exp(-jnp.abs(x)))


@engine.kernel
def gelu(x):
    return 0.5 * x * (1 + engine.erf(x * INV_SQRT_2))


@engine.kernel
def gelu_pull(g, x):
    return g * (0.5 * (1 + engine.erf(x * INV_SQRT_2)) + x * jnp.exp(-0.5 * x * x) * INV_SQRT_TAU)


@engine.kernel
def threshold_pull(g, x, threshold):
    return engine.keep(g, ~(x <= threshold))
