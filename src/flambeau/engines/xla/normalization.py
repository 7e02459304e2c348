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
def normalize_pull(g, x, weight, axes, mean, var, g_mean, g_var, eps):
    away, inv = x - mean, jax.lax.rsqrt(var + eps)
    wide = mean.shape if weight is None else (*[1] * (x.ndim - weight.ndim), *weight.shape)
    inner = tuple([a for a in axes if wide[a] == 1])
    outer = tuple([a for a in axes if wide[a] != 1])
    g_sum, g_away = g.sum(inner, keepdims=True), (g * away).sum(inner, keepdims=True)
    g_weight, g_bias = g_away * inv, g_sum
    direct = inv
    if weight is not None:
        seen = tuple([a for a in range(x.ndim) if wide[a] == 1])
        g_weight, g_bias = (p.sum(seen, keepdims=True).reshape(weight.shape) for p in (g_weight, g_bias))
        g_sum, g_away, direct = g_sum * weight, g_away * weight, weight * inv
    n = max(math.prod([x.shape[a] for a in axes]), 1)
    slope = (2 * g_var - g_away.sum(outer, keepdims=True) * (inv * inv * inv)) / n
    level = (g_mean - g_sum.sum(outer, keepdims=True) * inv) / n
    return g * direct + (away * slope + level), g_weight, g_bias


@engine.kernel
def scale_shift(x, scale, shift):
    return x * scale + shift
