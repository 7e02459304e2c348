"""Convolution: windows of the input are copied to columns, for a few samples at a time, and multiplied by one BLAS
call.

Arrays are (samples, channels, *spatial), weights (out channels, in channels / groups, *kernel). Columns are (channels,
*kernel, samples, *out): the product with the weight as a matrix has a row per output channel.
"""

import itertools
import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import NUMPY as engine

COLUMNS = 1 << 18  # elements of the columns of one part, unless a single sample has more


def out_sizes(spatial, kernel, stride, padding, dilation):
    """The spatial sizes of a convolution's result."""
    return tuple([
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(spatial, kernel, stride, padding, dilation, strict=True)
    ])


def pad_zeros(x, padding):
    """x with a margin of zeros."""
    if not any(padding):
        return x
    shape = [n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)]
    out = np.zeros((*x.shape[:2], *shape), x.dtype)
    out[inside(padding, x.shape[2:])] = x
    return out


def inside(padding, spatial):
    return (..., *[slice(p, p + n) for p, n in zip(padding, spatial, strict=True)])


def parts(samples, per_sample):
    """Slices of the samples whose columns fit in the cache."""
    step = max(1, min(samples, COLUMNS // max(per_sample, 1)))
    return [slice(i, min(i + step, samples)) for i in range(0, samples, step)]


def columns(x, kernel, out, stride, padding, dilation, groups):
    """The windows of x as matrices: (groups, channels * kernel, samples * out)."""
    x = pad_zeros(x, padding)
    samples, channels = x.shape[:2]
    steps = x.strides[2:]
    windows = as_strided(
        x, (channels, *kernel, samples, *out),
        (x.strides[1], *[s * d for s, d in zip(steps, dilation, strict=True)],
         x.strides[0], *[s * t for s, t in zip(steps, stride, strict=True)]),
    )
    return windows.reshape(groups, channels // groups * math.prod(kernel), samples * math.prod(out))


def by_channel(g, groups):
    """(samples, channels, *spatial) as matrices with a row per channel: (groups, channels / groups, the rest)."""
    samples, channels = g.shape[:2]
    return g.swapaxes(0, 1).reshape(groups, channels // groups, samples * math.prod(g.shape[2:]))


def add_to_channels(y, bias):
    """y with a number added to each channel, in place."""
    y += bias.reshape(-1, *[1] * (y.ndim - 2))
    return y


@engine.kernel
def conv(x, weight, stride, padding, dilation, groups, out=None, bias=None, finish=None):
    """The convolution (strictly: cross-correlation) of x with the weight, plus a bias; only the first `out` of it.

    `finish` is an epilogue for the result: see the kernel of that name.
    """
    if finish is not None:
        return engine.finish(engine.conv(x, weight, stride, padding, dilation, groups, out, bias), finish)
    if bias is not None:
        return add_to_channels(conv(x, weight, stride, padding, dilation, groups, out), bias)
    samples, channels = x.shape[:2]
    kernel = weight.shape[2:]
    out = out or out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    places = math.prod(out)
    rows = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    y = np.empty((samples, weight.shape[0], *out), np.result_type(x, weight))
    if max(*kernel, *stride) == 1 and not any(padding) and out == x.shape[2:]:
        flat = x.reshape(samples, groups, channels // groups, places)
        np.matmul(rows, flat, out=y.reshape(samples, *rows.shape[:2], places))
        return y
    if channels == groups == weight.shape[0]:
        return by_place(x, weight, y, stride, padding, dilation)
    for part in parts(samples, channels * math.prod(kernel) * places):
        cols = columns(x[part], kernel, out, stride, padding, dilation, groups)
        if part.stop - part.start == 1:
            np.matmul(rows, cols, out=y[part].reshape(*rows.shape[:2], places))
        else:
            y[part] = np.matmul(rows, cols).reshape(weight.shape[0], part.stop - part.start, *out).swapaxes(0, 1)
    return y


@engine.kernel
def conv_input(g, weight, spatial, stride, padding, dilation, groups, bias=None, finish=None):
    """The transpose of ``conv`` in its input, of spatial sizes `spatial`: g times the weight, summed over windows."""
    if finish is not None:
        return engine.finish(engine.conv_input(g, weight, spatial, stride, padding, dilation, groups, bias), finish)
    if bias is not None:
        return add_to_channels(conv_input(g, weight, spatial, stride, padding, dilation, groups), bias)
    samples, kernel, out = g.shape[0], weight.shape[2:], g.shape[2:]
    channels = weight.shape[1] * groups
    rows = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:])).swapaxes(1, 2)
    wide = [n + 2 * p for n, p in zip(spatial, padding, strict=True)]
    x = np.empty((samples, channels, *spatial), np.result_type(g, weight))
    if channels == groups == weight.shape[0]:
        return by_place_input(g, weight, x, stride, padding, dilation)
    for part in parts(samples, channels * math.prod(kernel) * math.prod(out)):
        count = part.stop - part.start
        cols = np.matmul(rows, by_channel(g[part], groups)).reshape(channels, *kernel, count, *out)
        into = np.zeros((channels, count, *wide), x.dtype)
        for place in itertools.product(*map(range, kernel)):
            into[window_key(place, out, stride, dilation)] += cols[(slice(None), *place)]
        x[part] = into[inside(padding, spatial)].swapaxes(0, 1)
    return x


@engine.kernel
def conv_weight(x, g, kernel, stride, padding, dilation, groups):
    """The transpose of ``conv`` in its weight, of kernel sizes `kernel`."""
    samples, channels = x.shape[:2]
    out = g.shape[2:]
    total = np.zeros((groups, g.shape[1] // groups, channels // groups * math.prod(kernel)), np.result_type(x, g))
    for part in parts(samples, channels * math.prod(kernel) * math.prod(out)):
        cols = columns(x[part], kernel, out, stride, padding, dilation, groups)
        total += np.matmul(by_channel(g[part], groups), cols.swapaxes(1, 2))
    return total.reshape(g.shape[1], channels // groups, *kernel)


# ---- a kernel for each channel: no products of matrices, but a sum over the places of the kernel


def weights_by_place(weight):
    """(place, weights that broadcast to (samples, channels, *spatial)) for each place of the kernel."""
    kernel = weight.shape[2:]
    for place in itertools.product(*map(range, kernel)):
        yield place, weight[(slice(None), 0, *place)].reshape(-1, *[1] * len(kernel))


def by_place(x, weight, y, stride, padding, dilation):
    """``conv`` into y, one place of the kernel after the other."""
    for part in parts(x.shape[0], 4 * math.prod(x.shape[1:])):
        wide, total = pad_zeros(x[part], padding), y[part]
        piece = np.empty_like(total)
        total[...] = 0
        for place, weights in weights_by_place(weight):
            total += np.multiply(wide[window_key(place, y.shape[2:], stride, dilation)], weights, out=piece)
    return y


def by_place_input(g, weight, x, stride, padding, dilation):
    """``conv_input`` into x, one place of the kernel after the other."""
    sizes = [n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)]
    for part in parts(g.shape[0], 4 * math.prod(x.shape[1:])):
        own = g[part]
        wide, piece = np.zeros((*own.shape[:2], *sizes), x.dtype), np.empty(own.shape, x.dtype)
        for place, weights in weights_by_place(weight):
            wide[window_key(place, g.shape[2:], stride, dilation)] += np.multiply(own, weights, out=piece)
        x[part] = wide[inside(padding, x.shape[2:])]
    return x


def window_key(place, out, stride, dilation):
    """The key of the elements that one place of the kernel is multiplied with: one for each element of the result."""
    return (..., *[
        slice(i * d, i * d + (n - 1) * s + 1, s) for i, n, s, d in zip(place, out, stride, dilation, strict=True)
    ])
