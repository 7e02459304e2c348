"""The XLA twins of the kernels in ``engines/numpy/pooling.py``."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..numpy.pooling import flat_place, lowest, origins, reach, window_key
from . import engine


def place_in_margin(x, padding, sizes, fill):
    margins = [(p, max(m - p - n, 0)) for m, n, p in zip(sizes, x.shape[2:], padding, strict=True)]
    return jnp.pad(x, [(0, 0), (0, 0), *margins], constant_values=fill)


@engine.kernel
def max_pool(x, kernel, stride, padding, dilation, out):
    spatial = x.shape[2:]
    origin, first = origins(out, stride, padding, dilation, spatial)
    index = jnp.broadcast_to(first, (*x.shape[:2], *out))
    wide = place_in_margin(x, padding, reach(out, kernel, stride, dilation), lowest(x.dtype))
    best = jnp.full(index.shape, lowest(x.dtype), x.dtype)
    for place in itertools.product(*map(range, kernel)):
        value = wide[window_key(place, out, stride, dilation)]
        wins = (value > best) | (value != value)
        best = jnp.where(wins, value, best)
        step = flat_place([i * d for i, d in zip(place, dilation, strict=True)], spatial)
        index = jnp.where(wins, origin + step, index)
    return best, index


@engine.kernel
def window_sum(x, kernel, stride, padding, out):
    margins = [
        (p, max((m - 1) * s + k - p - n, 0))
        for m, n, k, s, p in zip(out, x.shape[2:], kernel, stride, padding, strict=True)
    ]
    zero = np.zeros((), x.dtype)  # jax recognizes a sum, and can transpose it, only with a constant zero
    total = jax.lax.reduce_window(x, zero, jax.lax.add, (1, 1, *kernel), (1, 1, *stride), [(0, 0), (0, 0), *margins])
    return total[(..., *[slice(n) for n in out])]


@engine.kernel
def window_spread(g, kernel, stride, padding, spatial):
    x = jax.ShapeDtypeStruct((*g.shape[:2], *spatial), g.dtype)
    return jax.linear_transpose(lambda x: window_sum(x, kernel, stride, padding, g.shape[2:]), x)(g)[0]


@engine.kernel
def ranges_mean(x, ranges):
    for d, pairs in enumerate(ranges):
        axis = x.ndim - len(ranges) + d
        lead = (slice(None),) * axis
        x = jnp.stack([jnp.mean(x[(*lead, slice(*pair))], axis=axis) for pair in pairs], axis=axis)
    return x


@engine.kernel
def ranges_spread(g, ranges, spatial):
    x = jax.ShapeDtypeStruct((*g.shape[:2], *spatial), g.dtype)
    return jax.linear_transpose(lambda x: ranges_mean(x, ranges), x)(g)[0]


@engine.kernel
def ranges_max(x, ranges):
    out = tuple([len(pairs) for pairs in ranges])
    best, index = [], []
    for cell in itertools.product(*map(range, out)):
        box = [ranges[d][i] for d, i in enumerate(cell)]
        window = x[(..., *[slice(*pair) for pair in box])]
        flat = window.reshape(*x.shape[:2], math.prod(window.shape[2:]))
        place = jnp.argmax(flat, -1)
        best.append(jnp.take_along_axis(flat, place[..., None], -1)[..., 0])
        coordinates = jnp.unravel_index(place, window.shape[2:])
        index.append(flat_place([c + s for c, (s, _) in zip(coordinates, box, strict=True)], x.shape[2:]))
    shape = (*x.shape[:2], *out)
    return jnp.stack(best, -1).reshape(shape), jnp.stack(index, -1).reshape(shape)
