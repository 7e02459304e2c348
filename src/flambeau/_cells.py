"""Shared memory on engines whose arrays cannot be written to.

NumPy's views lie over one memory: what is written through one is seen by all. jax's arrays are values. There the
tensors that would share memory share a Cell, which holds the whole and knows by which steps each of them is taken from
it. A write puts the new elements into the whole, and takes all of them from it anew.
"""

from __future__ import annotations

import weakref

import numpy as np

from ._tensor import replay, storage_of
from .engines import engine_of


class Cell:
    """The elements that several tensors show, as ``whole``; they lie in memory, as it were, as in the array `like`."""

    def __init__(self, t, like=None):
        self.whole = t._a
        self.like = like
        self.shown = {}  # id of a tensor -> (weak reference to it, the steps from the whole to it)
        self.show(t, ())

    def show(self, t, chain):
        """Notes that `t` is what `chain` takes from the whole."""
        key, shown = id(t), self.shown
        shown[key] = (weakref.ref(t, lambda _: shown.pop(key, None)), chain)

    def chain(self, t):
        return self.shown[id(t)][1]

    def in_memory(self, t):
        """(a NumPy array that lies as `t` would lie in NumPy's memory, one that lies like the whole)."""
        whole = np.empty(self.whole.shape, self.whole.dtype) if self.like is None else self.like
        return replay(whole, self.chain(t)), whole

    def write(self, t, array):
        """Puts the new elements of `t` into the whole; every tensor over it shows them."""
        from .ops.shape import put

        self.whole = put(engine_of(array), self.whole, self.chain(t), array)
        for reference, chain in list(self.shown.values()):
            other = reference()
            if other is not None:
                other._a = array if other is t else replay(self.whole, chain)


def cell_of(t):
    """The tensor's cell, made now if nothing has needed it before."""
    storage = storage_of(t)
    if storage.cell is None:
        storage.cell = Cell(t)
    return storage.cell


def in_memory(t):
    """An array that lies in memory as `t` does, or would if it were NumPy's; only for its shape and strides."""
    a = t._a
    if isinstance(a, np.ndarray):
        return a
    cell = storage_of(t).cell
    return np.empty(a.shape, a.dtype) if cell is None else cell.in_memory(t)[0]


def share(t, source, *steps):
    """Notes that `t` shows what `steps` take from `source`. NumPy's views need no such note."""
    if isinstance(source._a, np.ndarray):
        return
    cell = storage_of(t).cell = cell_of(source)
    cell.show(t, cell.chain(source) + steps)


def store(t, array):
    """Makes `array` the elements of `t`: the array that a write has filled, or, on other engines, has made."""
    if type(array) is not np.ndarray:
        storage = storage_of(t)
        if storage.cell is not None:
            storage.cell.write(t, array)
        storage.array = array
    t._a = array


__all__ = ["cell_of", "in_memory", "share", "store"]
