"""Snapshots of the contents of containers: compared before each run, and restored after the trace."""

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
FIXED = (tuple, frozenset, types.MethodType, functools.partial, Hooks)  # immutable ones
OPEN = (dict, list, collections.defaultdict, collections.OrderedDict)  # those whose floats may become inputs


class Contents:
    """A snapshot of a container: plain values are compared by value, arrays by their elements, others by identity.

    Tensors are compared elsewhere, by place (``Guards``), and so are the floats at the keys of ``inputs``.
    """

    def __init__(self, container):
        self.container = container
        self.table = vars(container) if isinstance(container, types.SimpleNamespace) else container
        self.elements = ArrayValue(container) if isinstance(container, np.ndarray) else None
        self.keys, self.values = parts_of(container)
        self.current = self.values  # with proxies for floats during tracing
        self.inputs = set()
        self.forms = {}  # TupleForms, by key or index

    def matches(self):
        """Whether the container's contents are valid for the program."""
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
        """Whether a value may replace the one that was under this name."""
        if isinstance(now, Tensor):
            return now is was or (isinstance(was, Tensor) and isinstance(self.table, dict | list))
        if name in self.forms:
            return self.forms[name].fits(now)
        return is_same_value(now, was) or (name in self.inputs and is_like_input(now, was))

    def is_untouched(self):
        """Whether the container has exactly the same objects."""
        if self.elements is not None:
            return ArrayValue(self.container) == self.elements
        keys, values = parts_of(self.container)
        return (len(keys) == len(self.keys) and len(values) == len(self.current)
                and all(map(is_, keys, self.keys)) and all(map(is_, values, self.current)))

    @property
    def varies(self):
        """Whether valid contents may consist of other objects, so that they must be compared one by one."""
        return bool(self.elements is not None or self.inputs or any([form.varies for form in self.forms.values()]))

    def note_forms(self, form_of):
        """Notes the forms of tuples that may be replaced, as returned by ``form_of(value, takes floats)``."""
        names = self.keys or range(len(self.values))
        found = zip(names, self.values) if isinstance(self.table, dict | list) else ()
        self.forms = {name: form for name, v in found if (form := form_of(v, name in self.inputs)) is not None}

    @property
    def is_fixed(self):
        """Whether the container is immutable."""
        return isinstance(self.container, FIXED)

    def places(self):
        """(place, value) pairs of the contents; the place is None where it cannot change."""
        table = self.table
        kind = Item if isinstance(table, dict) else Element if isinstance(table, list | tuple) else None
        names = self.keys or range(len(self.values))
        return [(kind and kind(table, name), value) for name, value in zip(names, self.values)]

    def exchange(self, stand_in):
        """Replaces each value by ``stand_in(place, value)``, if that is another object."""
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
    """Whether a value is a tuple or a named tuple without further attributes."""
    if type(value) is tuple:
        return True
    return isinstance(value, tuple) and hasattr(value, "_fields") and not hasattr(value, "__dict__")


class TupleForm:
    """The form of a tuple, which another tuple must have to replace it: tensors and floats may be other ones.

    Args:
        value: the tuple.
        takes_floats: whether its floats are inputs.
        is_exchangeable: tells whether a nested tuple may be replaced too.
    """

    __slots__ = ("kind", "parts", "varies")

    def __init__(self, value, takes_floats, is_exchangeable):
        self.kind = type(value)
        self.parts = [
            Tensor if isinstance(v, Tensor) else float if takes_floats and type(v) is float
            else TupleForm(v, False, is_exchangeable) if is_exchangeable(v) else TupleItem(v) for v in value]
        self.varies = any([part is Tensor or part is float or part.varies for part in self.parts])  # from call to call

    def fits(self, now):
        return type(now) is self.kind and len(now) == len(self.parts) and all(map(fits, now, self.parts))


class TupleItem:
    """An element of a tuple that must not change."""

    __slots__ = ("value",)
    varies = False

    def __init__(self, value):
        self.value = value

    def fits(self, now):
        return now is self.value or is_same_value(now, self.value)


def fits(now, part):
    """Whether a value may replace an element of a tuple: a tensor, a float, a nested tuple or a constant."""
    if part is Tensor:
        return isinstance(now, Tensor)
    if part is float:
        return type(now) is float
    return part.fits(now)


def is_like_input(now, was):
    """Whether a float, or a tuple with floats, can replace another one as an input."""
    if type(was) is not tuple:
        return type(now) is type(was)
    return type(now) is tuple and len(now) == len(was) and all(
        is_same_value(a, b) or type(a) is type(b) is float for a, b in zip(now, was))


def parts_of(container):
    """(keys, values) of a container, in order."""
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
    """Replaces the contents of a container, bypassing overridden methods of its class."""
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
