"""Pooling over windows, and over as many windows as the result is to have elements."""

from __future__ import annotations

import functools
import math

import numpy as np

from ._op import kinked, op
from .reduce import place
from .scatter import gather, ungather
from .shape import reshape

# PyTorch pools sequences as images of height one: the node that one sees is that of the squeeze.
SEQUENCE = "SqueezeBackward1"


def by_dims(declare, nodes):
    """The op for one, two and three spatial dimensions: they differ in the name of their graph node only."""
    return {dims: declare(dims, node) for dims, node in enumerate(nodes, 1)}


# ---- maxima: the gradient goes to the element that was taken


def unpooled(g, index, shape, unique):
    """Zeros of `shape` to which g is added at flat spatial indices; `unique`: no index comes twice."""
    lead, spatial = tuple(shape[:2]), math.prod(shape[2:])
    rows = (math.prod(lead), math.prod(g.shape[2:]))
    g, index = reshape(g, shape=rows), reshape(index, shape=rows)
    call = place if unique else ungather
    return reshape(call(g, index, axis=1, shape=(rows[0], spatial)), shape=shape)


def apart(kernel, stride, dilation):
    """Whether no element is in two windows."""
    return all([s >= d * (k - 1) + 1 for k, s, d in zip(kernel, stride, dilation, strict=True)])


def _max_pool(dims, node):
    @op(name=f"max_pool{dims}d", node=node, opmath=True, refuses="bc")
    def max_pool(k, x, *, kernel, stride, padding, dilation, sizes):
        return k.max_pool(x, kernel, stride, padding, dilation, sizes)

    max_pool.vjp(x=lambda g, out_1, x_shape, kernel, stride, dilation: unpooled(
        g[0], out_1, x_shape, apart(kernel, stride, dilation)
    ))
    return max_pool


max_pool = by_dims(_max_pool, (SEQUENCE, "MaxPool2DWithIndicesBackward0", "MaxPool3DWithIndicesBackward0"))


def _adaptive_max_pool(dims, node):
    @op(name=f"adaptive_max_pool{dims}d", node=node, opmath=True, refuses="bic")
    def adaptive_max_pool(k, x, *, sizes):
        if 0 in sizes:
            shape = (*x.shape[:2], *sizes)
            return k.zeros(shape, x.dtype), k.zeros(shape, np.int64)
        return k.ranges_max(x, all_ranges(x.shape[2:], sizes))

    adaptive_max_pool.vjp(x=lambda g, out_1, x_shape, sizes: unpooled(
        g[0], out_1, x_shape, all([n % m == 0 for n, m in zip(x_shape[2:], sizes, strict=True)])
    ))
    return adaptive_max_pool


adaptive_max_pool = by_dims(_adaptive_max_pool, (SEQUENCE, "AdaptiveMaxPool2DBackward0", "AdaptiveMaxPool3DBackward0"))
kinked(*max_pool.values(), *adaptive_max_pool.values())


@functools.lru_cache(64)
def all_ranges(spatial, out):
    """The (start, stop) of the window behind each element of the result, for each dimension."""
    return tuple([
        tuple([(i * n // m, -((i + 1) * n // -m)) for i in range(m)]) for n, m in zip(spatial, out, strict=True)
    ])


# ---- means


@functools.lru_cache(64)
def divisors(spatial, kernel, stride, padding, out, include_pad, override):
    """By how much the sum over each window is divided: a number, or an array where windows differ."""
    if override is not None:
        return override
    total = np.ones((), np.int64)
    for n, k, s, p, m in zip(spatial, kernel, stride, padding, out, strict=True):
        start = np.arange(m) * s - p
        stop = np.minimum(start + k, n + p)
        count = stop - start if include_pad else np.minimum(stop, n) - np.maximum(start, 0)
        total = total[..., None] * count
    return int(total.flat[0]) if total.size and (total == total.flat[0]).all() else total


def divided(k, x, by):
    if x.dtype.kind in "iu":
        return k.trunc(x / by).astype(x.dtype)
    return x / (by if isinstance(by, int) else by.astype(x.dtype))


def _avg_pool(dims, node):
    @op(name=f"avg_pool{dims}d", node=node, opmath=True, refuses="bc")
    def avg_pool(k, x, *, kernel, stride, padding, sizes, include_pad, override):
        by = divisors(x.shape[2:], kernel, stride, padding, sizes, include_pad, override)
        return divided(k, k.window_sum(x, kernel, stride, padding, sizes), by)

    @op(name=f"avg_pool{dims}d_pull", node=f"AvgPool{dims}DBackwardBackward0", opmath=True)
    def pull(k, g, *, kernel, stride, padding, spatial, include_pad, override):
        by = divisors(spatial, kernel, stride, padding, g.shape[2:], include_pad, override)
        return k.window_spread(divided(k, g, by), kernel, stride, padding, spatial)

    avg_pool.vjp(x=lambda g, x_shape, kernel, stride, padding, include_pad, override: pull(
        g, kernel=kernel, stride=stride, padding=padding, spatial=tuple(x_shape[2:]), include_pad=include_pad,
        override=override,
    ))
    pull.vjp(g=lambda h, g_shape, kernel, stride, padding, include_pad, override: avg_pool(
        h, kernel=kernel, stride=stride, padding=padding, sizes=tuple(g_shape[2:]), include_pad=include_pad,
        override=override,
    ))
    return avg_pool


avg_pool = by_dims(_avg_pool, (SEQUENCE, "AvgPool2DBackward0", "AvgPool3DBackward0"))


def _adaptive_avg_pool(dims, node):
    @op(name=f"adaptive_avg_pool{dims}d", node=node, opmath=True, refuses="bic")
    def adaptive_avg_pool(k, x, *, sizes):
        spatial = x.shape[2:]
        if 0 in sizes:
            return k.zeros((*x.shape[:2], *sizes), x.dtype)
        if x.size and all([n % m == 0 for n, m in zip(spatial, sizes, strict=True)]):
            boxes = [size for n, m in zip(spatial, sizes, strict=True) for size in (m, n // m)]
            return k.mean(x.reshape(*x.shape[:2], *boxes), axis=tuple(range(3, 3 + 2 * len(sizes), 2)))
        return k.ranges_mean(x, all_ranges(spatial, sizes))

    @op(name=f"adaptive_avg_pool{dims}d_pull", node=f"AdaptiveAvgPool{dims}DBackwardBackward0", opmath=True)
    def pull(k, g, *, spatial):
        return k.ranges_spread(g, all_ranges(spatial, g.shape[2:]), spatial)

    adaptive_avg_pool.vjp(x=lambda g, x_shape: pull(g, spatial=tuple(x_shape[2:])))
    pull.vjp(g=lambda h, g_shape: adaptive_avg_pool(h, sizes=tuple(g_shape[2:])))
    return adaptive_avg_pool


adaptive_avg_pool = by_dims(_adaptive_avg_pool, (SEQUENCE, "AdaptiveAvgPool2DBackward0", "AdaptiveAvgPool3DBackward0"))


# ---- back from the maxima


def _max_unpool(dims, node):
    @op(name=f"max_unpool{dims}d", node=node)
    def max_unpool(k, x, index, *, spatial):
        """Zeros with the elements of x at flat spatial indices."""
        rows = (math.prod(x.shape[:2]), math.prod(x.shape[2:]))
        flat = k.put_along(x.reshape(rows), index.reshape(rows), 1, (rows[0], math.prod(spatial)))
        return flat.reshape(*x.shape[:2], *spatial)

    max_unpool.vjp(x=lambda g, index: repooled(g, index))
    return max_unpool


def repooled(g, index):
    """The elements of g at flat spatial indices."""
    rows = reshape(g, shape=(math.prod(g.shape[:2]), math.prod(g.shape[2:])))
    flat = gather(rows, reshape(index, shape=(rows.shape[0], math.prod(index.shape[2:]))), axis=1)
    return reshape(flat, shape=tuple(index.shape))


max_unpool = by_dims(_max_unpool, (SEQUENCE, "MaxUnpool2DBackward0", "MaxUnpool3DBackward0"))
