"""Weighted sums of a few elements along each dimension. See ops/upsampling.py for the tables."""

from __future__ import annotations

from .. import NUMPY as engine

MANY = 8  # taps from which they are taken all at once


@engine.kernel
def resample(x, tables):
    """x resampled along its last dimensions by a table each, or None; what makes it smaller comes first."""
    lead = x.ndim - len(tables)
    known = [(d, table) for d, table in enumerate(tables, lead) if table is not None]
    for axis, table in sorted(known, key=lambda item: item[1].index.shape[1] / x.shape[item[0]]):
        x = resample_axis(x, *table, axis)
    return x


def resample_axis(x, index, weights, axis):
    if weights is None:
        x = x.take(index, axis)
        return x[(slice(None),) * axis + (0,)] if len(index) == 1 else x.sum(axis)
    weights = weights.astype(x.dtype, copy=False)
    weights = weights.reshape(*weights.shape, *[1] * (x.ndim - axis - 1))
    if len(index) > MANY:
        return (x.take(index, axis) * weights).sum(axis, dtype=x.dtype)
    total = x.take(index[0], axis)
    total *= weights[0]
    for i, w in zip(index[1:], weights[1:], strict=True):
        piece = x.take(i, axis)
        piece *= w
        total += piece
    return total
