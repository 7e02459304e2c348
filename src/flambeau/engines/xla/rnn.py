"""The XLA twins of the kernels in ``engines/numpy/rnn.py``."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from . import engine


@engine.kernel
@functools.partial(jax.jit, static_argnames=("body", "reverse"))
def scan(body, weights, carry, xs, reverse):
    return jax.lax.scan(lambda carry, x: body(weights, carry, x), carry, xs, reverse=reverse)


@engine.kernel
def lstm_gates(x, hidden, c):
    i, f, g, o = jnp.split(x + hidden, 4, axis=-1)
    i, f, g, o = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)
    c = f * c + i * g
    return o * jnp.tanh(c), c, jnp.concatenate([i, f, g, o], -1)


@engine.kernel
def lstm_gates_pull(g_h, g_c, g_gates, gates, c, previous):
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    g_i, g_f, g_g, g_o = jnp.split(g_gates, 4, axis=-1)
    t = jnp.tanh(c)
    g_c = g_c + g_h * o * (1 - t * t)
    g_x = jnp.concatenate([
        (g_c * g + g_i) * i * (1 - i),
        (g_c * previous + g_f) * f * (1 - f),
        (g_c * i + g_g) * (1 - g * g),
        (g_h * t + g_o) * o * (1 - o),
    ], -1)
    return g_x, g_c * f
