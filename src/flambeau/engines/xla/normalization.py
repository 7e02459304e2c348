"""The XLA twins of the kernels in ``engines/numpy/normalization.py``."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from . import engine


@engine.kernel
def normalize(x, weight, bias, axes, eps):
    mean = jnp.mean(x, axis=axes, keepdims=True)
    away = x - mean
    var = jnp.mean(away * away, axis=axes, keepdims=True)
    y = away * jax.lax.rsqrt(var + eps)
    if weight is not None:
        y = y * weight
    return (y if bias is None else y + bias), mean, var


@engine.kernel
def layer_norm_pull(g, x, weight, axes, mean, var, g_mean, g_var, eps):
    lead = tuple(range(x.ndim - len(axes)))
    n = max(math.prod([x.shape[a] for a in axes]), 1)
    away, inv = x - mean, jax.lax.rsqrt(var + eps)
    direct = g if weight is None else g * weight
    level = (g_mean - direct.sum(axes, keepdims=True) * inv) / n
    slope = (2 * g_var - (direct * away).sum(axes, keepdims=True) * (inv * inv * inv)) / n
    return direct * inv + (away * slope + level), (g * (away * inv)).sum(lead), g.sum(lead)


@engine.kernel
def scale_shift(x, scale, shift):
    return x * scale + shift
