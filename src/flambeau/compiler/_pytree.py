"""Trees of tuples, lists, dicts and dataclasses: flattened to their tensors, and built again around others."""

from __future__ import annotations

import collections
import copy
import dataclasses
from typing import Any, NamedTuple

import numpy as np

from .._tensor import Tensor
from ._trust import advances

PLAIN = (bool, int, float, complex, str, bytes, type(None))  # values that are compared by value
NUMBERS = (float, complex)
TENSOR = "tensor"
FACTORY = object()  # stands for the name of a defaultdict's factory
LARGE = 1 << 16  # bytes up to which NumPy arrays are compared by their elements


class Tree(NamedTuple):
    """A container: what it is, the keys of its children, and the children."""

    kind: Any
    keys: tuple
    children: tuple


class Constant(NamedTuple):
    """A number, a string or the like; 1, 1.0 and True are different ones, and so are 0.0 and -0.0."""

    kind: type
    value: Any
    zero: str = ""


class Identity:
    """Any other object: equal only to itself."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Identity and other.value is self.value

    def __hash__(self):
        return id(self.value)


class ArrayValue:
    """A NumPy array, by its elements."""

    __slots__ = ("key", "value")

    def __init__(self, array):
        self.value = array.copy()
        self.key = type(array), array.dtype.str, array.shape, array.tobytes()

    def __eq__(self, other):
        return type(other) is ArrayValue and other.key == self.key

    def __hash__(self):
        return hash(self.key)


class CopyOf:
    """A container that is built again by copying this one: equal to others of its class."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is CopyOf and type(other.value) is type(self.value)

    def __hash__(self):
        return hash(type(self.value))


class ArgumentContainer(NamedTuple):
    """A container among the arguments, by its number."""

    nr: int


class Unequal:
    """What is different each time, or too large to be compared: equal to nothing."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def is_same_value(a, b):
    """Whether two values are plain ones between which nothing can tell."""
    kind = type(a)
    return a is b or (kind is type(b) and kind in PLAIN and a == b
                      and (a != 0 or kind not in NUMBERS or repr(a) == repr(b)))


def flatten(value, tensors, stand_in=lambda value: None):
    """The tree of `value` without its tensors, which are appended to `tensors`. It can be compared and hashed.

    ``stand_in(value)`` may return what stands for a value in the tree.
    """
    kind = type(value)
    if isinstance(value, Tensor):
        tensors.append(value)
        return TENSOR
    if kind in PLAIN:
        return Constant(kind, value, repr(value)) if kind in NUMBERS and value == 0 else Constant(kind, value)
    if kind is slice:
        parts = (value.start, value.stop, value.step)
        return Tree(kind, (), tuple([flatten(v, tensors, stand_in) for v in parts]))
    if kind is range:
        return Constant(kind, value)
    found = stand_in(value)
    if found is not None:
        return found
    if kind is np.ndarray or isinstance(value, np.generic):
        return Unequal(value) if value.nbytes > LARGE or value.dtype.hasobject else ArrayValue(value)
    if isinstance(value, tuple | list | set | frozenset | collections.deque):
        children, attributes = [flatten(v, tensors, stand_in) for v in value], vars_of(value)
        if not attributes:
            return Tree(kind, (), tuple(children))
        more = [flatten(v, tensors, stand_in) for v in attributes.values()]
        return Tree(CopyOf(value), (None, *attributes), (Tree(list, (), tuple(children)), *more))
    if isinstance(value, dict):
        children = tuple([flatten(v, tensors, stand_in) for v in value.values()])
        if kind is dict:
            return Tree(kind, tuple(value), children)
        attributes, factory = vars_of(value), Identity(getattr(value, "default_factory", None))
        more = [flatten(v, tensors, stand_in) for v in attributes.values()]
        return Tree(CopyOf(value), (None, FACTORY, *attributes), (Tree(dict, tuple(value), children), factory, *more))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        state = fields_of(value)
        return Tree(CopyOf(value), tuple(state), tuple([flatten(v, tensors, stand_in) for v in state.values()]))
    return Unequal(value) if advances(value) else Identity(value)


def opaque_leaves(tree):
    """The values in a tree that are neither tensors nor taken apart."""
    if type(tree) is Tree:
        return [value for child in tree.children for value in opaque_leaves(child)]
    return [tree.value] if type(tree) in (Identity, Unequal) else []


def vars_of(container):
    """The attributes of a container of the user's own class."""
    return getattr(container, "__dict__", {})


def fields_of(value):
    """The attributes of a dataclass's object: the fields, and what else was set."""
    names = {f.name: None for f in dataclasses.fields(value)} | dict.fromkeys(getattr(value, "__dict__", ()))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def unflatten(tree, tensors, containers=()):
    """The value of a tree, with the next of `tensors` (an iterator) where tensors were.

    ``containers`` are those among the arguments of the call.
    """
    if tree is TENSOR:
        return next(tensors)
    kind = type(tree)
    if kind is ArgumentContainer:
        return containers[tree.nr]
    if kind is ArrayValue:
        return tree.value.copy()
    if kind is not Tree:
        return tree.value
    children = [unflatten(child, tensors, containers) for child in tree.children]
    kind = tree.kind
    if kind is dict:
        return dict(zip(tree.keys, children, strict=True))
    if type(kind) is not CopyOf:
        return kind(*children) if kind is slice or hasattr(kind, "_fields") else kind(children)
    return rebuild(kind.value, tree.keys, children)


def rebuild(value, names, children):
    """A container like `value` with other contents (under the name None) and attributes."""
    new = copy.copy(value)
    for name, child in zip(names, children, strict=True):
        if name is None and isinstance(value, tuple | frozenset):
            new = type(value)(*child) if hasattr(value, "_fields") else type(value)(child)
        elif name is None:
            new.clear()
            (new.update if isinstance(new, dict | set) else new.extend)(child)
        elif name is not FACTORY:
            object.__setattr__(new, name, child)
    return new


def containers_of(args, kwargs):
    """The containers among the arguments of a call that can be changed."""
    return containers_in((args, *kwargs.values()), [])


def containers_in(value, found):
    """Appends the containers in `value` that can be changed, in the order in which they are met."""
    if isinstance(value, Tensor) or type(value) in PLAIN:
        return found
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, np.ndarray):
        parts = ()
    elif isinstance(value, tuple | list | set | collections.deque):
        parts = value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = fields_of(value).values()
    else:
        return found
    if not isinstance(value, tuple):
        found.append(value)
    for part in parts:
        containers_in(part, found)
    return found
