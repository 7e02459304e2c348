"""The XLA twins of ``engines/numpy/move.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from . import engine


@engine.kernel
def place(pieces, shape):
    out = jnp.zeros(shape, pieces[0][0].dtype)
    for x, key in pieces:
        out = out.at[key].set(x)
    return out


@engine.kernel
def pad_constant(x, pads, value):
    return jnp.pad(x, pads, constant_values=value)


@engine.kernel
def pad_edges(x, pads, mode):
    x = x[tuple([slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pads, x.shape)])]
    return jnp.pad(x, [(max(a, 0), max(b, 0)) for a, b in pads], mode=mode)


@engine.kernel
def fold_edges(g, pads, mode):
    shape = [n - a - b for (a, b), n in zip(pads, g.shape)]
    transpose = jax.linear_transpose(lambda x: pad_edges(x, pads, mode), jax.ShapeDtypeStruct(shape, g.dtype))
    return transpose(g)[0]
