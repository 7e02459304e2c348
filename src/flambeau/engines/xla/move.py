"""The XLA twins of ``engines/numpy/move.py``."""

import jax
import jax.numpy as jnp

from ..numpy.move import crops
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
    if mode == "wrap":
        x = x[crops(pads, x.shape)]
    out = jnp.pad(x, [(max(a, 0), max(b, 0)) for a, b in pads], mode=mode)
    return out if mode == "wrap" else out[crops(pads, out.shape)]


@engine.kernel
def fold_edges(g, pads, mode):
    shape = [n - a - b for (a, b), n in zip(pads, g.shape)]
    transpose = jax.linear_transpose(lambda x: pad_edges(x, pads, mode), jax.ShapeDtypeStruct(shape, g.dtype))
    return transpose(g)[0]
