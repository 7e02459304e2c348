"""The XLA twins of the kernels in ``engines/numpy/normalization.py``."""

import jax
import jax.numpy as jnp

from .._formulas import NORMALIZATION, define
from ..numpy.normalization import pull_results
from . import engine

define(engine, *NORMALIZATION)


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
    return pull_results(g, x, weight, axes, mean, jax.lax.rsqrt(var + eps), g_mean, g_var)


@engine.kernel
def scale_shift(x, scale, shift):
    return x * scale + shift


@engine.kernel
def move_average(into, value, decay, weight):
    return into * decay + value.astype(into.dtype).reshape(into.shape) * weight
