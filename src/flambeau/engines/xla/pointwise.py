"""Pointwise kernels on jax arrays that jax.numpy has under another name, or not at all."""

import jax
import jax.numpy as jnp

from .._formulas import ARITHMETIC, define
from . import engine

define(engine, *ARITHMETIC)


@engine.kernel
def keep(x, mask):
    return jnp.where(mask, x, jnp.zeros((), x.dtype))


@engine.kernel
def where(condition, x, y):
    """jnp.where in which a Python number takes the dtype of the other side."""
    if not hasattr(x, "dtype") and hasattr(y, "dtype"):
        x = jnp.asarray(x, y.dtype)
    elif not hasattr(y, "dtype") and hasattr(x, "dtype"):
        y = jnp.asarray(y, x.dtype)
    return jnp.where(condition, x, y)


@engine.kernel
def to_complex(re, im):
    return jax.lax.complex(*jnp.broadcast_arrays(re, im))


@engine.kernel
def sign(x):
    """The sign, 0 for nan; for a complex number, its projection on the unit circle."""
    if x.dtype == bool:
        return x
    if x.dtype.kind == "c":
        size = jnp.abs(x)
        zero = size == 0
        return jax.lax.complex(*[jnp.where(zero, 0, part / jnp.where(zero, 1, size)) for part in (x.real, x.imag)])
    return jnp.where(x != x, jnp.zeros((), x.dtype), jnp.sign(x))


@engine.kernel
def relu(x):
    return jnp.maximum(x, 0)


@engine.kernel
def sigmoid(x):
    return jax.nn.sigmoid(x)


@engine.kernel
def div_trunc(x, y):
    """The quotient rounded towards zero."""
    if jnp.issubdtype(jnp.result_type(x, y), jnp.integer):
        return jax.lax.div(*jnp.broadcast_arrays(x, y))
    return jnp.trunc(x / y)
