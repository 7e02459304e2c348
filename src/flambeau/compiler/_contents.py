"""What containers hold: noted, compared, put back."""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from operator import is_

import numpy as np

from .._tensor import Tensor
from ..nn.modules._hooks import KINDS, Hooks
from ._nest import Elements, alike, attributes_of
from ._places import Element, Item

CONTAINERS = (dict, list, tuple, set, collections.deque, types.SimpleNamespace, types.MethodType, functools.partial,
              Hooks, np.ndarray)
FIXED = (tuple, types.MethodType, functools.partial, Hooks)  # those that cannot be made to hold something else


class Contents:
    """What a container holds, for comparison: plain values by value, arrays by their elements, others by identity.

    Tensors are left to those who know their places.
    """

    def __init__(self, container):
        self.container = container
        self.table = vars(container) if isinstance(container, types.SimpleNamespace) else container
        self.elements = Elements(container) if isinstance(container, np.ndarray) else None
        self.keys, self.values = parts_of(container)

    def still(self):
        """Whether the container holds what it held, or what is as good for a program."""
        table = self.table
        if self.elements is not None:
            return Elements(table) == self.elements
        if len(table) != len(self.values):
            return False
        if isinstance(table, dict):
            if not all(map(is_, table, self.keys)) and not all(map(alike, table, self.keys)):
                return False
            table = table.values()
        return all(map(is_, table, self.values)) or all(map(self.as_good, table, self.values))

    def as_good(self, now, was):
        """Whether what is held now is as good as what was held there."""
        if isinstance(now, Tensor):
            return now is was or (isinstance(was, Tensor) and isinstance(self.table, dict | list))
        return alike(now, was)

    def untouched(self):
        """Whether the container holds the very same things."""
        if self.elements is not None:
            return Elements(self.container) == self.elements
        keys, values = parts_of(self.container)
        return (len(keys) == len(self.keys) and len(values) == len(self.values)
                and all(a is b for a, b in zip(keys, self.keys)) and all(a is b for a, b in zip(values, self.values)))

    @property
    def is_fixed(self):
        """Whether the container cannot be made to hold something else."""
        return isinstance(self.container, FIXED)

    def places(self):
        """(place, value) of what is held; the place is None where it cannot change."""
        table = self.table
        kind = Item if isinstance(table, dict) else Element if isinstance(table, list | tuple) else None
        names = self.keys or range(len(self.values))
        return [(kind and kind(table, name), value) for name, value in zip(names, self.values)]

    def restore(self):
        if not self.untouched():
            refill(self.container, self.keys, self.elements.value if self.elements is not None else self.values)


def parts_of(container):
    """(keys, values) of what a container holds, in order."""
    if isinstance(container, dict):
        return list(container), list(container.values())
    if isinstance(container, types.SimpleNamespace):
        return list(vars(container)), list(vars(container).values())
    if isinstance(container, Hooks):
        return (), [getattr(container, kind) for kind in KINDS]
    if isinstance(container, functools.partial):
        return (), [container.func, container.args, container.keywords]
    if isinstance(container, types.MethodType):
        return (), [container.__self__, container.__func__]
    if isinstance(container, np.ndarray):
        return (), ()
    if dataclasses.is_dataclass(container):
        held = attributes_of(container)
        return list(held), list(held.values())
    return (), list(container)


def refill(container, keys, values):
    """Makes a container hold something else."""
    if isinstance(container, types.SimpleNamespace):
        container = vars(container)
    if isinstance(container, np.ndarray):
        np.copyto(container, values)
    elif isinstance(container, dict):
        container.clear()
        container.update(zip(keys, values, strict=True))
    elif isinstance(container, set):
        container.clear()
        container.update(values)
    elif isinstance(container, collections.deque):
        container.clear()
        container.extend(values)
    elif not isinstance(container, list):
        for name in attributes_of(container).keys() - keys:
            object.__delattr__(container, name)
        for name, value in zip(keys, values, strict=True):
            object.__setattr__(container, name, value)
    else:
        container[:] = values
