"""Pooling over windows, and adaptive pooling."""

import functools
import itertools
import math

import numpy as np

from ._format import in_format_of
from ._op import op
from .reduce import place
from .scatter import gather, ungather
from .shape import reshape, squeeze, unsqueeze


def node_of(name):
    """The name of the node for one, two or three spatial dimensions.

    PyTorch pools sequences as images of height one, so the visible node is that of the squeeze.
    """
    return lambda x_shape: "SqueezeBackward1" if len(x_shape) == 3 else name.format(len(x_shape) - 2)


def pool_as_image(pool, x, **settings):
    """PyTorch's steps in pooling sequences."""
    out = pool(unsqueeze(x, axis=2), **settings)
    return squeeze(out[0] if isinstance(out, tuple) else out, axis=(2,))


def in_format(k, x, *results):
    return tuple([k.in_format_of(y, x) for y in results])


# ---- maxima: the gradient goes to the maximal element


def unpool(g, index, shape, unique):
    """Zeros of `shape`, with g added at flat spatial indices; `unique`: no index occurs twice."""
    lead, spatial = tuple(shape[:2]), math.prod(shape[2:])
    rows = (math.prod(lead), math.prod(g.shape[2:]))
    g, flat = reshape(g, shape=rows), reshape(index, shape=rows)
    call = place if unique else ungather
    return in_format_of(reshape(call(g, flat, axis=1, shape=(rows[0], spatial)), shape=shape), index)


def apart(kernel, stride, dilation):
    """Whether the windows do not overlap."""
    return all([s >= d * (k - 1) + 1 for k, s, d in zip(kernel, stride, dilation, strict=True)])


@op(node=node_of("MaxPool{}DWithIndicesBackward0"), opmath=True, refuses="bc", piecewise_linear=True, image=True)
def max_pool(k, x, *, kernel, stride, padding, dilation, sizes):
    return in_format(k, x, *k.max_pool(x, kernel, stride, padding, dilation, sizes))


max_pool.vjp(x=lambda g, out_1, x_shape, kernel, stride, dilation: unpool(
    g[0], out_1, x_shape, apart(kernel, stride, dilation)
))


max_pool.presents(SqueezeBackward1=lambda x, kernel, stride, padding, dilation, sizes: pool_as_image(
    max_pool, x, kernel=(1, *kernel), stride=(1, *stride), padding=(0, *padding), dilation=(1, *dilation),
    sizes=(1, *sizes),
))


@op(node=node_of("AdaptiveMaxPool{}DBackward0"), opmath=True, refuses="bic", piecewise_linear=True, image=True)
def adaptive_max_pool(k, x, *, sizes):
    if 0 in sizes:
        shape = (*x.shape[:2], *sizes)
        return k.zeros(shape, x.dtype), k.zeros(shape, np.int64)
    return in_format(k, x, *k.ranges_max(x, all_ranges(x.shape[2:], sizes)))


adaptive_max_pool.vjp(x=lambda g, out_1, x_shape, sizes: unpool(
    g[0], out_1, x_shape, all([n % m == 0 for n, m in zip(x_shape[2:], sizes, strict=True)])
))


adaptive_max_pool.presents(SqueezeBackward1=lambda x, sizes: pool_as_image(adaptive_max_pool, x, sizes=(1, *sizes)))


@functools.lru_cache(64)
def all_ranges(spatial, out):
    """The (start, stop) of the window behind each element of the result, for each dimension."""
    return tuple([
        tuple([(i * n // m, -((i + 1) * n // -m)) for i in range(m)]) for n, m in zip(spatial, out, strict=True)
    ])


@op(node=node_of("FractionalMaxPool{}DBackward0"), opmath="first", refuses="bic", piecewise_linear=True, row_major=True)
def fractional_max_pool(k, x, samples, *, kernel, sizes):
    """Max pooling over windows at positions that depend on the random `samples`, (samples, channels, dimensions)."""
    spatial, lead = x.shape[2:], x.shape[:2]
    flat, origin = x.reshape(math.prod(lead), math.prod(spatial)), 0
    for d, (n, size, m) in enumerate(zip(spatial, kernel, sizes, strict=True)):
        first = window_starts(k, samples[..., d], n, size, m)
        origin = origin * n + first.reshape(*lead, *[m if e == d else 1 for e in range(len(sizes))])
    origin = k.broadcast_to(origin, (*lead, *sizes)).reshape(math.prod(lead), math.prod(sizes))
    best, index = k.gather(flat, origin, 1), origin
    for inner in itertools.product(*map(range, kernel)):
        here = origin + np.ravel_multi_index(inner, spatial)
        value = k.gather(flat, here, 1)
        wins = (value > best) | (value != value)
        best, index = k.where(wins, value, best), k.where(wins, here, index)
    return best.reshape(*lead, *sizes), index.reshape(*lead, *sizes)


fractional_max_pool.vjp(x=lambda g, out_1, x_shape: unpool(g[0], out_1, x_shape, False))


def window_starts(k, samples, n, size, m):
    """The start indices of m windows of a size in n elements, in random steps."""
    last = k.zeros((*samples.shape, 1), np.int64) + (n - size)
    if m < 2:
        return last[..., :m]
    step = samples.dtype.type((n - size) / (m - 1))
    shifted = (np.arange(m - 1, dtype=samples.dtype) + samples[..., None]) * step
    return k.concatenate([shifted.astype(np.int64) - (samples * step).astype(np.int64)[..., None], last], -1)


# ---- means


@functools.lru_cache(64)
def divisors(spatial, kernel, stride, padding, out, include_pad, override):
    """The divisor of each window's sum: a number, or an array if windows differ."""
    if override is not None:
        return override
    total = np.ones((), np.int64)
    for n, k, s, p, m in zip(spatial, kernel, stride, padding, out, strict=True):
        start = np.arange(m) * s - p
        stop = np.minimum(start + k, n + p)
        count = stop - start if include_pad else np.minimum(stop, n) - np.maximum(start, 0)
        total = total[..., None] * count
    return int(total.flat[0]) if total.size and (total == total.flat[0]).all() else total


def divide(k, x, by):
    if x.dtype.kind in "iu":
        return k.trunc(x / by).astype(x.dtype)
    return x / (by if isinstance(by, int) else by.astype(x.dtype))


@op(node=node_of("AvgPool{}DBackward0"), opmath=True, refuses="bc", image=True)
def avg_pool(k, x, *, kernel, stride, padding, sizes, include_pad, override):
    by = divisors(x.shape[2:], kernel, stride, padding, sizes, include_pad, override)
    return k.in_format_of(divide(k, k.window_sum(x, kernel, stride, padding, sizes), by), x)


avg_pool.presents(SqueezeBackward1=lambda x, kernel, stride, padding, sizes, include_pad, override: pool_as_image(
    avg_pool, x, kernel=(1, *kernel), stride=(1, *stride), padding=(0, *padding), sizes=(1, *sizes),
    include_pad=include_pad, override=override,
))


@op(node=lambda spatial: f"AvgPool{len(spatial)}DBackwardBackward0", opmath=True, image=True)
def avg_pool_pull(k, g, *, kernel, stride, padding, spatial, include_pad, override):
    by = divisors(spatial, kernel, stride, padding, g.shape[2:], include_pad, override)
    return k.in_format_of(k.window_spread(divide(k, g, by), kernel, stride, padding, spatial), g)


avg_pool.vjp(x=lambda g, x_shape, kernel, stride, padding, include_pad, override: avg_pool_pull(
    g, kernel=kernel, stride=stride, padding=padding, spatial=tuple(x_shape[2:]), include_pad=include_pad,
    override=override,
))


avg_pool_pull.vjp(g=lambda h, g_shape, kernel, stride, padding, include_pad, override: avg_pool(
    h, kernel=kernel, stride=stride, padding=padding, sizes=tuple(g_shape[2:]), include_pad=include_pad,
    override=override,
))


@op(node=node_of("AdaptiveAvgPool{}DBackward0"), opmath=True, refuses="bic", image=True)
def adaptive_avg_pool(k, x, *, sizes):
    spatial = x.shape[2:]
    if 0 in sizes:
        return k.zeros((*x.shape[:2], *sizes), x.dtype)
    if x.size and all([n % m == 0 for n, m in zip(spatial, sizes, strict=True)]):
        boxes = [size for n, m in zip(spatial, sizes, strict=True) for size in (m, n // m)]
        boxes = x.reshape(*x.shape[:2], *boxes)
        return k.in_format_of(k.mean(boxes, axis=tuple(range(3, 3 + 2 * len(sizes), 2))), x)
    return k.in_format_of(k.ranges_mean(x, all_ranges(spatial, sizes)), x)


adaptive_avg_pool.presents(SqueezeBackward1=lambda x, sizes: pool_as_image(adaptive_avg_pool, x, sizes=(1, *sizes)))


@op(node=lambda spatial: f"AdaptiveAvgPool{len(spatial)}DBackwardBackward0", opmath=True, image=True)
def adaptive_avg_pool_pull(k, g, *, spatial):
    return k.in_format_of(k.ranges_spread(g, all_ranges(spatial, g.shape[2:]), spatial), g)


adaptive_avg_pool.vjp(x=lambda g, x_shape: adaptive_avg_pool_pull(g, spatial=tuple(x_shape[2:])))


adaptive_avg_pool_pull.vjp(g=lambda h, g_shape: adaptive_avg_pool(h, sizes=tuple(g_shape[2:])))


# ---- unpooling


@op(node=node_of("MaxUnpool{}DBackward0"), row_major=True)
def max_unpool(k, x, index, *, spatial):
    """Zeros with the elements of x at flat spatial indices."""
    rows = (math.prod(x.shape[:2]), math.prod(x.shape[2:]))
    flat = k.put_along(x.reshape(rows), index.reshape(rows), 1, (rows[0], math.prod(spatial)))
    return flat.reshape(*x.shape[:2], *spatial)


max_unpool.vjp(x=lambda g, index: take_pooled(g, index))


def take_pooled(g, index):
    """The elements of g at flat spatial indices."""
    rows = reshape(g, shape=(math.prod(g.shape[:2]), math.prod(g.shape[2:])))
    flat = gather(rows, reshape(index, shape=(rows.shape[0], math.prod(index.shape[2:]))), axis=1)
    return reshape(flat, shape=tuple(index.shape))
