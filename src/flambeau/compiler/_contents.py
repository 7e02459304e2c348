"""What containers hold: noted, compared, restored."""

import collections
import dataclasses
import functools
import types
from operator import is_

import numpy as np

from .._tensor import Tensor
from ..nn.modules._hooks import KINDS, Hooks
from ._places import Element, Item
from ._pytree import ArrayValue, fields_of, is_same_value

CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque, types.SimpleNamespace, types.MethodType,
              functools.partial, Hooks, np.ndarray)
FIXED = (tuple, frozenset, types.MethodType, functools.partial, Hooks)  # those that cannot hold something else later
OPEN = (dict, list, collections.defaultdict, collections.OrderedDict)  # those in which floats may be exchanged


class Contents:
    """What a container holds, for comparison: plain values by value, arrays by their elements, others by identity.

    Tensors are left to those who know their places, and so are the floats at the keys of ``inputs``.
    """

    def __init__(self, container):
        self.container = container
        self.table = vars(container) if isinstance(container, types.SimpleNamespace) else container
        self.elements = ArrayValue(container) if isinstance(container, np.ndarray) else None
        self.keys, self.values = parts_of(container)
        self.current = self.values  # with what stands for floats while a trace runs
        self.inputs = set()
        self.forms = {}  # of tuples that may be exchanged, by the keys, or places, at which they are

    def matches(self):
        """Whether the container holds what it held, or what is as good for a program."""
        table = self.table
        if self.elements is not None:
            return ArrayValue(table) == self.elements
        if len(table) != len(self.values):
            return False
        if isinstance(table, dict):
            if not all(map(is_, table, self.keys)) and not all(map(is_same_value, table, self.keys)):
                return False
            table = table.values()
        if all(map(is_, table, self.values)):
            return True
        names = self.keys or range(len(self.values))
        if not all(map(self.is_as_good, table, self.values, names)):
            return False
        self.values = list(table)
        return True

    def is_as_good(self, now, was, name):
        """Whether what is held now is as good as what was held under this name."""
        if isinstance(now, Tensor):
            return now is was or (isinstance(was, Tensor) and isinstance(self.table, dict | list))
        if name in self.forms:
            return self.forms[name].fits(now)
        return is_same_value(now, was) or (name in self.inputs and is_like_input(now, was))

    def is_untouched(self):
        """Whether the container holds the very same things."""
        if self.elements is not None:
            return ArrayValue(self.container) == self.elements
        keys, values = parts_of(self.container)
        return (len(keys) == len(self.keys) and len(values) == len(self.current)
                and all(map(is_, keys, self.keys)) and all(map(is_, values, self.current)))

    @property
    def varies(self):
        """Whether other things than those that were there last are as good, one by one."""
        return bool(self.elements is not None or self.inputs or any([form.varies for form in self.forms.values()]))

    def note_forms(self, form_of):
        """Notes the forms of tuples in whose place there may be others, as ``form_of(value, takes floats)`` says."""
        names = self.keys or range(len(self.values))
        found = zip(names, self.values) if isinstance(self.table, dict | list) else ()
        self.forms = {name: form for name, v in found if (form := form_of(v, name in self.inputs)) is not None}

    @property
    def is_fixed(self):
        """Whether the container cannot hold something else later."""
        return isinstance(self.container, FIXED)

    def places(self):
        """(place, value) of what is held; the place is None where it cannot change."""
        table = self.table
        kind = Item if isinstance(table, dict) else Element if isinstance(table, list | tuple) else None
        names = self.keys or range(len(self.values))
        return [(kind and kind(table, name), value) for name, value in zip(names, self.values)]

    def exchange(self, stand_in):
        """Puts what ``stand_in(place, value)`` returns, unless it is the value itself, in the place of each value."""
        if type(self.table) not in OPEN:
            return
        self.current = list(self.values)
        for nr, (place, value) in enumerate(self.places()):
            new = stand_in(place, value)
            if new is not value:
                place.put(new)
                self.current[nr] = new
                self.inputs.add(place.name)

    def restore(self):
        if self.current is not self.values or not self.is_untouched():
            refill(self.container, self.keys, self.elements.value if self.elements is not None else self.values)


def is_plain_tuple(value):
    """Whether a value is a tuple, maybe with names for its items, that has nothing else."""
    if type(value) is tuple:
        return True
    return isinstance(value, tuple) and hasattr(value, "_fields") and not hasattr(value, "__dict__")


class TupleForm:
    """What another tuple must be like to be as good for a program: tensors, of which others know, are where they were.

    Args:
        value: the tuple.
        takes_floats: whether the floats in it are inputs.
        is_exchangeable: says whether another tuple may be in the place of one that it holds.
    """

    __slots__ = ("kind", "parts", "varies")

    def __init__(self, value, takes_floats, is_exchangeable):
        self.kind = type(value)
        self.parts = [
            Tensor if isinstance(v, Tensor) else float if takes_floats and type(v) is float
            else TupleForm(v, False, is_exchangeable) if is_exchangeable(v) else Held(v) for v in value]
        self.varies = any([part is Tensor or part is float or part.varies for part in self.parts])  # from call to call

    def fits(self, now):
        return type(now) is self.kind and len(now) == len(self.parts) and all(map(fits, now, self.parts))


class Held:
    """What a tuple holds besides: it must be there."""

    __slots__ = ("value",)
    varies = False

    def __init__(self, value):
        self.value = value

    def fits(self, now):
        return now is self.value or is_same_value(now, self.value)


def fits(now, part):
    """Whether a value can be where a tuple held a tensor, a float, another tuple or something that is fixed."""
    if part is Tensor:
        return isinstance(now, Tensor)
    if part is float:
        return type(now) is float
    return part.fits(now)


def is_like_input(now, was):
    """Whether a float, or a tuple with floats, can be taken as an input like another one."""
    if type(was) is not tuple:
        return type(now) is type(was)
    return type(now) is tuple and len(now) == len(was) and all(
        is_same_value(a, b) or type(a) is type(b) is float for a, b in zip(now, was))


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
        fields = fields_of(container)
        return list(fields), list(fields.values())
    return (), list(container)


def refill(container, keys, values):
    """Makes a container hold something else, whatever the methods of its class do besides."""
    if isinstance(container, types.SimpleNamespace):
        container = vars(container)
    if isinstance(container, np.ndarray):
        np.copyto(container, values)
    elif isinstance(container, dict):
        kind = collections.OrderedDict if isinstance(container, collections.OrderedDict) else dict
        kind.clear(container)
        for key, value in zip(keys, values, strict=True):
            kind.__setitem__(container, key, value)
    elif isinstance(container, set):
        set.clear(container)
        set.update(container, values)
    elif isinstance(container, collections.deque):
        collections.deque.clear(container)
        collections.deque.extend(container, values)
    elif not isinstance(container, list):
        for name in fields_of(container).keys() - keys:
            object.__delattr__(container, name)
        for name, value in zip(keys, values, strict=True):
            object.__setattr__(container, name, value)
    else:
        list.__setitem__(container, slice(None), values)
