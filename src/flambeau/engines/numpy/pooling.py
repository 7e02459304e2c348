"""Pooling, as a loop over the places of the kernel, each of which is a strided slice for all windows."""

import itertools
import math

import numpy as np

from .. import NUMPY as engine


def reach(out, kernel, stride, dilation):
    """The extent of the windows in the padded input."""
    return [(n - 1) * s + d * (k - 1) + 1 for n, k, s, d in zip(out, kernel, stride, dilation, strict=True)]


def place_in_margin(x, padding, sizes, fill):
    """x in an array of spatial sizes of at least `sizes`, after a margin of `fill`."""
    spatial = x.shape[2:]
    if not any(padding) and all([m <= n for m, n in zip(sizes, spatial, strict=True)]):
        return x
    shape = [max(m, p + n) for m, n, p in zip(sizes, spatial, padding, strict=True)]
    out = np.full((*x.shape[:2], *shape), fill, x.dtype)
    out[(..., *[slice(p, p + n) for p, n in zip(padding, spatial, strict=True)])] = x
    return out


def window_key(place, out, stride, dilation):
    """The key of the elements at one place of all windows."""
    return (..., *[
        slice(i * d, i * d + (n - 1) * s + 1, s) for i, n, s, d in zip(place, out, stride, dilation, strict=True)
    ])


def flat_place(coordinates, spatial):
    """The flat index for coordinates, given as arrays that broadcast together."""
    total = 0
    for c, n in zip(coordinates, spatial, strict=True):
        total = total * n + c
    return total


def origins(out, stride, padding, dilation, spatial):
    """For each window the flat index where it starts, possibly in the margin, and of its first element inside."""
    starts, firsts = [], []
    for i, (n, s, p, d) in enumerate(zip(out, stride, padding, dilation, strict=True)):
        start = (np.arange(n) * s - p).reshape((-1,) + (1,) * (len(out) - 1 - i))
        starts.append(start)
        firsts.append(np.where(start < 0, start + -(start // d) * d, start))
    return flat_place(starts, spatial), flat_place(firsts, spatial)


def lowest(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@engine.kernel
def max_pool(x, kernel, stride, padding, dilation, out):
    """The largest element of each window, and its flat index in the spatial dimensions. NaN counts as the largest."""
    spatial = x.shape[2:]
    origin, first = origins(out, stride, padding, dilation, spatial)
    index = np.empty((*x.shape[:2], *out), np.int64)
    index[...] = first
    wide = place_in_margin(x, padding, reach(out, kernel, stride, dilation), lowest(x.dtype))
    best = np.full(index.shape, lowest(x.dtype), x.dtype)
    for place in itertools.product(*map(range, kernel)):
        value = wide[window_key(place, out, stride, dilation)]
        wins = value > best
        if x.dtype.kind == "f":
            wins |= value != value
        np.copyto(best, value, where=wins)
        step = flat_place([i * d for i, d in zip(place, dilation, strict=True)], spatial)
        np.copyto(index, origin + step, where=wins)
    return best, index


@engine.kernel
def window_sum(x, kernel, stride, padding, out):
    """The sum over each window, one dimension after the other."""
    ones = (1,) * len(kernel)
    x = place_in_margin(x, padding, reach(out, kernel, stride, ones), 0)
    for d in range(len(kernel)):
        axis = x.ndim - len(kernel) + d
        lead = (slice(None),) * axis
        total = None
        for i in range(kernel[d]):
            piece = x[(*lead, slice(i, i + (out[d] - 1) * stride[d] + 1, stride[d]))]
            if total is None:
                total = piece.copy()
            else:
                total += piece
        x = total
    return x


@engine.kernel
def window_spread(g, kernel, stride, padding, spatial):
    """The transpose of ``window_sum``: every element of a window gets the window's g."""
    dims, out = len(kernel), g.shape[2:]
    sizes = reach(out, kernel, stride, (1,) * dims)
    for d in range(dims):
        axis = g.ndim - dims + d
        lead = (slice(None),) * axis
        length = max(sizes[d], padding[d] + spatial[d])
        wide = np.zeros((*g.shape[:axis], length, *g.shape[axis + 1:]), g.dtype)
        for i in range(kernel[d]):
            wide[(*lead, slice(i, i + (out[d] - 1) * stride[d] + 1, stride[d]))] += g
        g = wide[(*lead, slice(padding[d], padding[d] + spatial[d]))]
    return np.ascontiguousarray(g)  # the result may be a visible gradient


@engine.kernel
def ranges_mean(x, ranges):
    """The mean over ranges of each spatial dimension, given as (start, stop) pairs."""
    for d, pairs in enumerate(ranges):
        axis = x.ndim - len(ranges) + d
        lead = (slice(None),) * axis
        out = np.empty((*x.shape[:axis], len(pairs), *x.shape[axis + 1:]), x.dtype)
        for i, (start, stop) in enumerate(pairs):
            np.mean(x[(*lead, slice(start, stop))], axis=axis, out=out[(*lead, i)])
        x = out
    return x


@engine.kernel
def ranges_spread(g, ranges, spatial):
    """The transpose of ``ranges_mean``."""
    for d, pairs in enumerate(ranges):
        axis = g.ndim - len(ranges) + d
        lead = (slice(None),) * axis
        wide = np.zeros((*g.shape[:axis], spatial[d], *g.shape[axis + 1:]), g.dtype)
        for i, (start, stop) in enumerate(pairs):
            wide[(*lead, slice(start, stop))] += g[(*lead, slice(i, i + 1))] / (stop - start)
        g = wide
    return g


@engine.kernel
def ranges_max(x, ranges):
    """The largest element of each box of ranges, and its flat index in the spatial dimensions."""
    spatial, lead = x.shape[2:], x.shape[:2]
    out = tuple([len(pairs) for pairs in ranges])
    best, index = np.empty((*lead, *out), x.dtype), np.empty((*lead, *out), np.int64)
    for cell in itertools.product(*map(range, out)):
        box = [ranges[d][i] for d, i in enumerate(cell)]
        window = x[(..., *[slice(*pair) for pair in box])]
        sizes = window.shape[2:]
        flat = window.reshape(*lead, math.prod(sizes))
        place = flat.argmax(-1)
        if x.dtype.kind == "f" and (nan := np.isnan(flat)).any():  # the last one of several
            place = np.where(nan.any(-1), flat.shape[-1] - 1 - nan[..., ::-1].argmax(-1), place)
        best[(..., *cell)] = np.take_along_axis(flat, place[..., None], -1)[..., 0]
        coordinates = [c + start for c, (start, _) in zip(np.unravel_index(place, sizes), box, strict=True)]
        index[(..., *cell)] = flat_place(coordinates, spatial)
    return best, index
