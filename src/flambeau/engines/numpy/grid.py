"""Reading and adding up at places that each sample has of its own."""

from __future__ import annotations

import numpy as np

from .. import NUMPY as engine


@engine.kernel
def take_places(x, index):
    """x, (samples, channels, size), at the places of each sample, (samples, places)."""
    out = np.empty((*x.shape[:2], index.shape[1]), x.dtype)
    for values, places, into in zip(x, index, out, strict=True):
        values.take(places, 1, into, "clip")  # raising would take a buffer
    return out


@engine.kernel
def add_places(g, index, size):
    """The transpose of ``take_places``: zeros of that size to which g is added."""
    out = np.zeros((*g.shape[:2], size), g.dtype)
    channels = np.arange(g.shape[1])[:, None] * size
    for values, places, into in zip(g, index, out, strict=True):
        engine.add_rows(into.reshape(-1), (places + channels).reshape(-1), values.reshape(-1))
    return out
