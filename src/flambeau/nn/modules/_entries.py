"""Common code of module containers and parameter containers."""

import operator
from collections.abc import Iterable, Mapping

from .module import Module


class Numbered(Module):
    """Entries named by consecutive numbers from 0."""

    def _place(self, index):
        """Normalizes an index, which may be negative."""
        index = operator.index(index)
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range: the {type(self).__name__} has {n} entries")
        return index % n

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]


class Keyed(Module):
    """Entries named by their keys."""

    def pop(self, key):
        """Removes and returns the entry under `key`."""
        entry = self[key]
        del self[key]
        return entry


def pairs_of(entries, who):
    """The (key, value) pairs of a mapping or of an iterable of pairs; raises PyTorch's errors for anything else."""
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{who}.update should be called with an iterable of key/value pairs, but got {type(entries).__name__}"
        )
    if isinstance(entries, (Mapping, Keyed)):
        yield from entries.items()
        return
    for i, pair in enumerate(entries):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{who} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{who} update sequence element #{i} has length {len(pair)}; 2 is required")
        yield pair
