"""Weighted sums of a few elements along each dimension. See ops/upsampling.py for the tables."""

import numpy as np

from .. import NUMPY as engine

MANY = 8  # taps from which all are gathered at once


@engine.kernel
def resample(x, tables):
    """x resampled along its last dimensions by a table each, or None; dimensions that shrink come first."""
    lead = x.ndim - len(tables)
    known = [(d, table) for d, table in enumerate(tables, lead) if table is not None]
    for axis, table in sorted(known, key=lambda item: item[1].index.shape[1] / x.shape[item[0]]):
        if table.weights is None:
            x = gather_axis(x, table.index, axis)
        else:
            x = engine.resample_axis(x, table.index, table.weights.astype(x.dtype, copy=False), axis)
    return x


def gather_axis(x, index, axis):
    """The sum of the elements at several indices, usually one."""
    if len(index) == 1:
        return x.take(index[0], axis)
    return x.take(index, axis).sum(axis, dtype=x.dtype)


@engine.kernel
def resample_axis(x, index, weights, axis):
    """Resamples one dimension; index and weights are (taps, size of the result)."""
    weights = weights.reshape(*weights.shape, *[1] * (x.ndim - axis - 1))
    if len(index) > MANY:
        return weigh(x, index, weights, axis).sum(axis, dtype=x.dtype)
    total = weigh(x, index[0], weights[0], axis)
    for i, w in zip(index[1:], weights[1:], strict=True):
        total += weigh(x, i, w, axis)
    return total


def weigh(x, index, weights, axis):
    """Elements times their weights; zero at negative indices."""
    found = x.take(np.maximum(index, 0), axis)
    found *= weights
    found[(slice(None),) * axis + (index < 0,)] = 0
    return found
