"""Grid sampling: images sampled at points, and affine grids of points.

A point in an image has a coordinate for each dimension, from -1 at one edge to 1 at the other. Its value is a weighted
sum of the neighbours; for each dimension these are *taps*: an index, a weight, and the derivative of the weight.
The vjp is written in ops, so that it can be differentiated again.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from .._device import preserve_format
from .._dtypes import HALF
from .._tensor import Tensor
from ..engines import engine_of
from ._op import kernel_op, op
from .convert import to_copy
from .join import stack
from .pointwise import floor, round_
from .reduce import sum_
from .shape import basic_index, reshape
from .upsampling import cubic_weights

OUTSIDE = -(2**31)  # marks a missing element: combined indices that include it are negative


class Tap(NamedTuple):
    """One neighbour along one dimension, for every point."""

    index: Any
    weight: Any
    slope: Any


# ---- weighted sums at places. With x (samples, channels, size), g (samples, channels, places), and indices and weights
# (samples, taps, places), three maps, each the transpose of the others in one of its inputs. What a negative index
# names is outside: it reads as zero, whatever is inside, and is not written to.


@op(node="GridSamplerBackward0", row_major=True)
def sum_places(k, x, weights, index):
    """The weighted sum over the taps of the elements of x at the points."""
    return k.sum_places(x, index, weights)


@op(node="GridSamplerBackward0", row_major=True)
def spread_places(k, g, weights, index, *, size):
    """Zeros, with g times the weights added at the points."""
    return k.spread_places(g, index, weights, size)


# The products of g and the elements of x at the points, summed over the channels.
dot_places = kernel_op("dot_places", inputs="g, x, index", node="GridSamplerBackward0", row_major=True)

sum_places.vjp(
    x=lambda g, weights, index, x_shape: spread_places(g, weights, index, size=x_shape[2]),
    weights=lambda g, x, index: dot_places(g, x, index),
)
spread_places.vjp(
    g=lambda h, weights, index: sum_places(h, weights, index),
    weights=lambda h, g, index: dot_places(g, h, index),
)
dot_places.vjp(
    g=lambda h, x, index: sum_places(x, h, index),
    x=lambda h, g, index, x_shape: spread_places(g, h, index, size=x_shape[2]),
)


# ---- coordinates


@op(row_major=True)
def confine(k, at, *, n, padding, align):
    """(coordinates clamped to [0, n - 1], their derivative). NaN becomes 0."""
    slope = k.ones(at.shape, at.dtype)
    if padding == "reflection":
        at, slope = reflect(k, at, n, align)
    inside = (at > 0) & (at < n - 1)
    return k.where(at > 0, k.minimum(at, n - 1), 0).astype(at.dtype), slope * inside


confine.vjp(at=lambda g, out_1: g[0] * out_1)


def reflect(k, at, n, align):
    """Coordinates mirrored at the centers of the first and the last element (`align`), or at their edges."""
    low, span = (0.0, n - 1) if align else (-0.5, n)
    if not span:
        return k.zeros(at.shape, at.dtype), k.zeros(at.shape, at.dtype)
    away = k.abs(at - low)
    turns = k.floor(away / span)
    rest, back = away - turns * span, turns % 2 == 1
    sign = k.where((at < low) != back, -1, 1).astype(at.dtype)
    return k.where(back, span - rest, rest).astype(at.dtype) + low, sign


@op(row_major=True)
def tap_places(k, low, *, offset, n, padding, align):
    """(the indices `offset` after `low`, whether there is an element, as numbers)."""
    place = low + offset
    if padding == "reflection":
        place, _ = reflect(k, place, n, align)
    inside = (place >= 0) & (place <= n - 1) if padding == "zeros" else k.ones(place.shape, bool)
    index = k.where(inside, k.where(place > 0, k.minimum(place, n - 1), 0), OUTSIDE)
    return index.astype(np.int64), inside.astype(low.dtype)


# ---- taps


def scale_of(n, align):
    """The number of elements per unit of a coordinate."""
    return (n - 1) / 2 if align else n / 2


def taps_along(c, n, mode, padding, align):
    """The taps of coordinates from -1 to 1 along a dimension of n elements."""
    at = (c + 1) * scale_of(n, align) - (0 if align else 0.5)
    slope = 1.0
    if mode != "bicubic" and padding != "zeros":
        at, slope = confine(at, n=n, padding=padding, align=align)
        padding = "zeros"
    slope = slope * scale_of(n, align)
    if mode == "nearest":
        return [tap(round_(at), 0, None, None, n, padding, align)]
    low = floor(at)
    part = at - low
    weigh = cubic if mode == "bicubic" else linear
    return [tap(low, offset, w, s * slope, n, padding, align) for offset, w, s in weigh(part)]


def tap(low, offset, weight, slope, n, padding, align):
    index, inside = tap_places(low, offset=offset, n=n, padding=padding, align=align)
    return Tap(index, inside if weight is None else weight * inside, None if slope is None else slope * inside)


def linear(t):
    """(offset, weight, slope of the weight) of the two neighbours of a place at `t` between them."""
    return [(0, 1 - t, -1.0), (1, t, 1.0)]


def cubic(t, a=-0.75):
    """(offset, weight, slope of the weight) of the four neighbours of a place at `t` between the middle two."""
    def outer(x):
        return (3 * a * x - 10 * a) * x + 8 * a

    def inner(x):
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    slopes = outer(t + 1), inner(t), -inner(1 - t), -outer(2 - t)
    return list(zip(range(-1, 3), cubic_weights(t, a), slopes, strict=True))


def all_taps(grid, spatial, mode, padding, align):
    """The taps of each dimension, as (samples, places) arrays; the last dimension comes first in a grid."""
    n = len(spatial)
    flat = reshape(grid, shape=(grid.shape[0], math.prod(grid.shape[1:-1]), n))
    along = [basic_index(flat, key=(slice(None), slice(None), n - 1 - d)) for d in range(n)]
    return [taps_along(c, size, mode, padding, align) for c, size in zip(along, spatial, strict=True)]


def corners(grid, spatial, mode, padding, align, with_slopes=False):
    """(flat indices, weights, derivatives of the weights by each coordinate if requested) of the corners of each point:
    combinations of a tap from every dimension."""
    if not isinstance(grid, Tensor):
        found = engine_of(grid).grid_corners(grid, tuple(spatial), mode, padding, align, with_slopes)
        if found is not None:
            return found
    combinations = list(itertools.product(*all_taps(grid, spatial, mode, padding, align)))
    index = stack(*[flat_index(taps, spatial) for taps in combinations], axis=1)
    weights = stack(*[product([t.weight for t in taps]) for taps in combinations], axis=1)
    return index, weights, [slopes(combinations, d) for d in range(len(spatial))] if with_slopes else None


def flat_index(taps, spatial):
    return functools.reduce(lambda total, item: total * item[1] + item[0].index, zip(taps, spatial, strict=True), 0)


def product(factors):
    return functools.reduce(lambda a, b: a * b, factors)


# ---- grid_sample


@op(node=lambda x_shape: f"GridSampler{len(x_shape) - 2}DBackward0", opmath=True, refuses="bic", row_major=True)
def grid_sample(k, x, grid, *, mode, padding, align):
    index, weights, _ = corners(grid, x.shape[2:], mode, padding, align)
    rows = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    return k.sum_places(rows, index, weights).reshape(*x.shape[:2], *grid.shape[1:-1])


@grid_sample.joint_vjp
def _(g, x, grid, mode, padding, align, needs):
    g, x, grid = map(in_single, (g, x, grid))
    spatial, lead = tuple(x.shape[2:]), tuple(x.shape[:2])
    size = math.prod(spatial)
    sloped = needs[1] and mode != "nearest"
    index, weights, by_dim = corners(grid, spatial, mode, padding, align, sloped)
    g = reshape(g, shape=(*lead, math.prod(grid.shape[1:-1])))
    to_x = reshape(spread_places(g, weights, index, size=size), shape=tuple(x.shape)) if needs[0] else None
    if not needs[1]:
        return to_x, None
    if not sloped:
        return to_x, grid * 0.0
    of_weights = dot_places(g, reshape(x, shape=(*lead, size)), index)
    along = [sum_(of_weights * slope, axis=1, keepdims=False) for slope in by_dim]
    return to_x, reshape(stack(*reversed(along), axis=2), shape=tuple(grid.shape))


def slopes(combinations, d):
    """The derivative of each corner's weight by the coordinate of dimension d."""
    return stack(*[
        product([t.slope if d == e else t.weight for e, t in enumerate(taps)]) for taps in combinations
    ], axis=1)


def in_single(x):
    """Half precision in float32, as in the forward."""
    dtype = getattr(x, "_a", x).dtype
    return to_copy(x, dtype=np.dtype(np.float32), format=preserve_format) if dtype in HALF else x


# ---- affine_grid: linear in the map


@functools.lru_cache(16)
def base_grid(spatial, align, dtype):
    """The homogeneous coordinates of every element: (places, dimensions + 1), the last dimension first, then ones."""
    axes = [centers(n, align).astype(dtype) for n in spatial]
    coordinates = np.meshgrid(*axes, indexing="ij")
    return np.stack([c.reshape(-1) for c in (*reversed(coordinates), np.ones(spatial, dtype))], 1)


def centers(n, align):
    """The coordinates of n elements between -1 and 1."""
    at = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
    return at if align else at * (n - 1) / n


@op(opmath=True, row_major=True)
def affine_grid_generator(k, theta, *, spatial, align):
    """The points that the maps `theta` (samples, dimensions, dimensions + 1) send the elements to."""
    base = base_grid(spatial, align, theta.dtype)
    return k.matmul(base, k.swapaxes(theta, 1, 2)).reshape(theta.shape[0], *spatial, len(spatial))


@op(opmath=True, row_major=True, node="BmmBackward0")
def affine_grid_pull(k, g, *, align):
    """The transpose of ``affine_grid_generator``."""
    spatial = g.shape[1:-1]
    rows = g.reshape(g.shape[0], math.prod(spatial), len(spatial))
    return k.matmul(k.swapaxes(rows, 1, 2), base_grid(spatial, align, g.dtype))


affine_grid_generator.vjp(theta=lambda g, align: affine_grid_pull(g, align=align))
affine_grid_pull.vjp(g=lambda h, g_shape, align: affine_grid_generator(h, spatial=tuple(g_shape[1:-1]), align=align))
