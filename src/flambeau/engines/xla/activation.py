"""Kernels of activations."""

import jax.numpy as jnp

from .._formulas import ACTIVATIONS, define
from . import engine

define(engine, *ACTIVATIONS)


@engine.kernel
def softplus(x, beta, threshold):
    scaled = x * beta
    return jnp.where(scaled > threshold, x, jnp.logaddexp(scaled, 0) / beta)
