"""Resizing: along each dimension, an element of the result is a weighted sum of a few elements of the input.

Indices and weights are in a table of taps for each dimension. The map is linear, and its transpose has the same form,
with transposed tables: this is the gradient, and the gradient of the gradient is the map again.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from ._op import op

NODES = {"nearest": "Nearest{}D", "nearest-exact": "NearestExact{}D", "bilinear-aa": "Bilinear2DAa",
         "bicubic-aa": "Bicubic2DAa", "lanczos-aa": "Lanczos2DAa", "linear": "Linear1D", "bilinear": "Bilinear2D",
         "trilinear": "Trilinear3D", "bicubic": "Bicubic2D"}


class Taps(NamedTuple):
    """Along one dimension: element j of the result is the sum over t of weights[t, j] * x[index[t, j]].

    ``weights`` None stands for ones. A negative index marks a missing tap. The arrays are shared by many calls and must
    not be written to.
    """

    index: np.ndarray  # type: ignore[assignment]  # hides tuple's method
    weights: np.ndarray | None


def node_of(sizes, mode):
    return f"Upsample{NODES[mode].format(len(sizes))}Backward0"


def pull_node_of(spatial, mode):
    return f"Upsample{NODES[mode].format(len(spatial))}BackwardBackward0"


@op(node=node_of, opmath=True, row_major=True)
def upsample(k, x, *, sizes, mode, align, scales):
    """x with the spatial sizes `sizes`; `scales` has the scale factors, or None for the ratio of sizes."""
    tables = all_taps(x.shape[2:], sizes, mode, align, scales, x.dtype)
    if x.dtype == np.uint8 and tables[0].weights is not None:
        return resample_bytes(k, x, tables)
    return k.resample(x, tables)


@op(node=pull_node_of, opmath=True, row_major=True)
def upsample_pull(k, g, *, spatial, mode, align, scales):
    """The transpose of ``upsample`` for inputs of the spatial sizes `spatial`."""
    return k.resample(g, all_taps_transposed(spatial, g.shape[2:], mode, align, scales, g.dtype))


upsample.vjp(x=lambda g, x_shape, mode, align, scales: upsample_pull(
    g, spatial=tuple(x_shape[2:]), mode=mode, align=align, scales=scales
))
upsample_pull.vjp(g=lambda h, g_shape, mode, align, scales: upsample(
    h, sizes=tuple(g_shape[2:]), mode=mode, align=align, scales=scales
))


def resample_bytes(k, x, tables):
    """On uint8: in fixed point, rounded after each dimension, the last one first."""
    for d in reversed(range(len(tables))):
        index, weights = tables[d].index, merged_weights(*tables[d])
        bits = fraction_bits(weights)
        fixed = np.floor(weights * (1 << bits) + 0.5).astype(np.int32)
        plain = [None] * len(tables)
        plain[d] = Taps(index, fixed)
        total = k.resample(x.astype(np.int32), tuple(plain)) + (1 << (bits - 1))
        x = k.clip(total >> bits, 0, 255).astype(np.uint8)
    return x


def merged_weights(index, weights):
    """The weights, with those of taps that coincide at an edge added to the last of them before rounding."""
    weights = weights.copy()
    for t in range(1, len(index)):
        same = index[t] == index[t - 1]
        weights[t] += same * weights[t - 1]
        weights[t - 1] *= ~same
    return weights


def fraction_bits(weights):
    """The number of fractional bits with which the largest weight fits in 16 bits."""
    largest, bits = float(weights.max()), 0
    while bits < 22 and math.floor(0.5 + largest * (1 << (bits + 1))) < (1 << 15):
        bits += 1
    return bits


# ---- tables


@functools.lru_cache(64)
def all_taps(spatial, sizes, mode, align, scales, dtype):
    """The table of each dimension; for floats in their own precision, as in PyTorch."""
    real = dtype.type if dtype.kind == "f" else np.float64
    return tuple([taps(n, m, mode, align, scale, real) for n, m, scale in zip(spatial, sizes, scales, strict=True)])


@functools.lru_cache(64)
def all_taps_transposed(spatial, *how):
    return tuple([transpose_taps(*t, n) for t, n in zip(all_taps(spatial, *how), spatial, strict=True)])


def taps(n, m, mode, align, scale, real):
    """The table from n elements to m."""
    if mode.startswith("nearest"):
        return nearest_taps(n, m, 0.5 if mode == "nearest-exact" else 0, scale)
    step = real(step_between(n, m, align, scale))
    if mode.endswith("-aa"):
        return smooth_taps(n, m, step, FILTERS[mode.removesuffix("-aa")], real)
    i = np.arange(m).astype(real)
    at = step * i if align else step * (i + real(0.5)) - real(0.5)
    return cubic_taps(n, at) if mode == "bicubic" else linear_taps(n, at)


def step_between(n, m, align, scale):
    """The distance in the input between neighbours of the result."""
    if align:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    return 1 / scale if scale else n / m


def nearest_taps(n, m, shift, scale):
    step = np.float32(1 / scale if scale else np.float32(n) / np.float32(m))
    index = np.floor((np.arange(m, dtype=np.float32) + np.float32(shift)) * step).astype(np.int64)
    return Taps(np.minimum(index, n - 1)[None], None)


def linear_taps(n, at):
    at = np.maximum(at, 0)
    low = np.minimum(at.astype(np.int64), n - 1)
    part = np.clip(at - low.astype(at.dtype), 0, 1)
    return Taps(np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - part, part]))


def cubic_taps(n, at):
    low = np.floor(at)
    part = np.clip(at - low, 0, 1)
    index = low.astype(np.int64) + np.arange(-1, 3)[:, None]
    return Taps(np.clip(index, 0, n - 1), np.stack(cubic_weights(part, -0.75)))


def cubic_weights(t, a):
    """The weights of four neighbours for a place `t` between the middle two; `a` is Keys' parameter."""
    def outer(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def inner(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    return [outer(t + 1), inner(t), inner(1 - t), outer(2 - t)]


def smooth_taps(n, m, step, kernel, real):
    """The taps of a kernel that is widened for smaller results, so that every element contributes."""
    weigh, reach = kernel
    stretch = max(step, real(1))
    center = step * (np.arange(m).astype(real) + real(0.5))
    first = np.maximum((center - reach * stretch + real(0.5)).astype(np.int64), 0)
    count = np.minimum((center + reach * stretch + real(0.5)).astype(np.int64), n) - first
    index = first + np.arange(max(count.max(), 1))[:, None]
    weights = weigh((index.astype(real) - center + real(0.5)) * (1 / stretch)).astype(real)
    weights *= index < first + count
    return Taps(np.minimum(index, n - 1), weights / weights.sum(0))


def triangle(x):
    return np.maximum(1 - np.abs(x), 0)


def cubic(x):
    x = np.abs(x)
    near, far = ((1.5 * x - 2.5) * x) * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def lanczos(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


FILTERS = {"bilinear": (triangle, 1), "bicubic": (cubic, 2), "lanczos": (lanczos, 3)}


def transpose_taps(index, weights, n):
    """The table of the transpose: for each of the n elements of the input, the results it contributes to."""
    weights = np.ones(index.shape, bool) if weights is None else weights
    t, j = np.nonzero(weights)
    into = index[t, j]
    order = np.argsort(into, kind="stable")
    into, j, w = into[order], j[order], weights[t, j][order]
    counts = np.bincount(into, minlength=n)
    tap = np.arange(into.size) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = max(counts.max(initial=0), 1), n
    found, amounts = np.full(shape, -1), np.zeros(shape, weights.dtype)
    found[tap, into], amounts[tap, into] = j, w
    return Taps(found, None if w.dtype == bool and counts.min() == shape[0] else amounts)
