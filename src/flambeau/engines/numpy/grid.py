"""Weighted sums of elements at indices that differ for each sample.

Arrays are x (samples, channels, size), g (samples, channels, places), index and weights (samples, taps, places). A
negative index is outside: it reads as zero, even next to NaN, and is not written to.
"""

import numpy as np

from .. import NUMPY as engine


@engine.kernel
def sum_places(x, index, weights):
    out = np.zeros((*x.shape[:2], index.shape[2]), x.dtype)
    for values, taps, factors, into in zip(x, index, weights, out, strict=True):
        for places, factor in zip(taps, factors, strict=True):
            into += at_places(values, places) * factor
    return out


@engine.kernel
def spread_places(g, index, weights, size):
    out = np.zeros((*g.shape[:2], size), g.dtype)
    channels = np.arange(g.shape[1])[:, None] * size
    for values, taps, factors, into in zip(g, index, weights, out, strict=True):
        for places, factor in zip(taps, factors, strict=True):
            inside = places >= 0
            np.add.at(into.reshape(-1), (places + channels)[:, inside], (values * factor)[:, inside])
    return out


@engine.kernel
def dot_places(g, x, index):
    out = np.empty(index.shape, x.dtype)
    for gradients, values, taps, into in zip(g, x, index, out, strict=True):
        for places, row in zip(taps, into, strict=True):
            np.sum(np.where(places < 0, 0, gradients * at_places(values, places)), axis=0, out=row)
    return out


def at_places(values, places):
    return np.where(places < 0, values.dtype.type(0), values[:, np.maximum(places, 0)])
