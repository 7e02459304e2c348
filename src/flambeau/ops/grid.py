"""Images read at given places, and the places that an affine map leads to.

A place in an image is a coordinate for each dimension, from -1 at one edge to 1 at the other. What is read there is a
weighted sum of the neighbours; for each dimension these are *taps*: an index, a weight, and the slope of the weight.
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
from ._op import op
from .convert import to_copy
from .join import stack
from .pointwise import floor, round_
from .reduce import sum_
from .shape import basic_index, reshape
from .upsampling import cubic_weights


class Tap(NamedTuple):
    """One neighbour along one dimension, for every place."""

    index: Any
    weight: Any
    slope: Any


# ---- reading and adding up at places: (samples, channels, size) by (samples, places)


@op(node="IndexBackward0", row_major=True)
def take_places(k, x, index):
    return k.take_places(x, index)


@op(node="IndexPutBackward0", opmath=True, row_major=True)
def add_places(k, g, index, *, size):
    """Zeros to which g is added."""
    return k.add_places(g, index, size)


take_places.vjp(x=lambda g, index, x_shape: add_places(g, index, size=x_shape[2]))
add_places.vjp(g=lambda h, index: take_places(h, index))


# ---- coordinates


@op(row_major=True)
def confine(k, at, *, n, padding, align):
    """(coordinates brought between 0 and n - 1, their slope). A coordinate that is no number becomes 0."""
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
    index = k.where(place > 0, k.minimum(place, n - 1), 0)
    return index.astype(np.int64), inside.astype(low.dtype)


# ---- taps


def scale_of(n, align):
    """How many elements a coordinate leads on for each unit."""
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


def corners(taps, spatial):
    """Each combination of a tap from every dimension: (flat index, its taps)."""
    for combination in itertools.product(*taps):
        index = combination[0].index
        for t, size in zip(combination[1:], spatial[1:], strict=True):
            index = index * size + t.index
        yield index, combination


def product(factors):
    return functools.reduce(lambda a, b: a * b, factors)


def over_channels(weight):
    return reshape(weight, shape=(weight.shape[0], 1, weight.shape[1]))


# ---- grid_sample


@op(node=lambda x_shape: f"GridSampler{len(x_shape) - 2}DBackward0", opmath=True, refuses="bic", row_major=True)
def grid_sample(k, x, grid, *, mode, padding, align):
    spatial = x.shape[2:]
    flat = x.reshape(*x.shape[:2], math.prod(spatial))
    total = k.zeros((*x.shape[:2], math.prod(grid.shape[1:-1])), x.dtype)
    for index, combination in corners(all_taps(grid, spatial, mode, padding, align), spatial):
        piece = k.take_places(flat, index)
        total = k.accumulate(total, piece * over_channels(product([t.weight for t in combination])))
    return total.reshape(*x.shape[:2], *grid.shape[1:-1])


@grid_sample.joint_vjp
def _(g, x, grid, mode, padding, align, needs):
    g, x, grid = map(in_single, (g, x, grid))
    spatial, lead = tuple(x.shape[2:]), tuple(x.shape[:2])
    flat = reshape(x, shape=(*lead, math.prod(spatial)))
    g = reshape(g, shape=(*lead, math.prod(grid.shape[1:-1])))
    to_x, to_grid = None, [None] * len(spatial)
    for index, combination in corners(all_taps(grid, spatial, mode, padding, align), spatial):
        if needs[0]:
            part = g * over_channels(product([t.weight for t in combination]))
            to_x = added(to_x, add_places(part, index, size=flat.shape[2]))
        if needs[1] and mode != "nearest":
            seen = sum_(g * take_places(flat, index), axis=1, keepdims=False)
            for d, slope in enumerate(slopes(combination)):
                to_grid[d] = added(to_grid[d], seen * slope)
    return (
        reshape(to_x, shape=(*lead, *spatial)) if needs[0] else None,
        grid_gradient(to_grid, grid) if needs[1] else None,
    )


def slopes(combination):
    """How much the weight of a corner changes with the coordinate of each dimension."""
    return [
        product([t.slope if d == e else t.weight for e, t in enumerate(combination)]) for d in range(len(combination))
    ]


def added(total, part):
    return part if total is None else total + part


def grid_gradient(to_grid, grid):
    if to_grid[0] is None:
        return grid * 0.0
    return reshape(stack(*reversed(to_grid), axis=2), shape=tuple(grid.shape))


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
    """The places that the maps `theta` (samples, dimensions, dimensions + 1) lead the elements to."""
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
