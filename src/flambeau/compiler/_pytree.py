"""Trees of tuples, lists, dicts and dataclasses: flattened to their tensors, and rebuilt around others."""

from __future__ import annotations

import collections
import copy
import copyreg
import dataclasses
from typing import Any, NamedTuple

import numpy as np

from .._tensor import Tensor
from ._trust import advances

PLAIN = (bool, int, float, complex, str, bytes, type(None))  # values that are compared by value
TENSOR = "tensor"
FACTORY = object()  # the key of a defaultdict's factory
LARGE = 1 << 16  # bytes up to which NumPy arrays are compared by their elements


class Tree(NamedTuple):
    """A container: its type, the keys of its children (or a tree of these), and their trees."""

    kind: Any
    keys: tuple
    children: tuple


class Constant(NamedTuple):
    """A number, a string or the like; 1, 1.0 and True are distinct, and so are 0.0 and -0.0."""

    kind: type
    value: Any
    text: str = ""

    @classmethod
    def of(cls, value):
        kind = type(value)
        return cls(kind, value, repr(value)) if has_signed_zero(kind, value) else cls(kind, value)


class Identity:
    """Any other object, compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Identity and other.value is self.value

    def __hash__(self):
        return id(self.value)


class ArrayValue:
    """A NumPy array, compared by its elements."""

    __slots__ = ("key", "value")

    def __init__(self, array):
        self.value = array.copy("K") if array.ndim else array.copy()
        form = type(array), array.dtype.str, array.shape, array.strides, array.flags.writeable
        self.key = *form, array.tobytes()

    def __eq__(self, other):
        return type(other) is ArrayValue and other.key == self.key

    def __hash__(self):
        return hash(self.key)


class CopyOf:
    """A container that is rebuilt by copying this one; equal to others of its class."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value
        copyreg._slotnames(type(value))  # the first copy leaves them at the class, whose attributes are compared

    def __eq__(self, other):
        return type(other) is CopyOf and type(other.value) is type(self.value)

    def __hash__(self):
        return hash(type(self.value))


class ArgumentContainer(NamedTuple):
    """A container among the arguments, by number."""

    nr: int


class Unequal:
    """A value that is never equal: an iterator, or an array too large to compare."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def is_same_value(a, b):
    """Whether two values are indistinguishable plain values."""
    kind = type(a)
    return a is b or (kind is type(b) and kind in PLAIN and a == b
                      and (not has_signed_zero(kind, a) or repr(a) == repr(b)))


def has_signed_zero(kind, value):
    """Whether a plain value may be equal to one with a zero of the other sign."""
    return kind is complex or (kind is float and value == 0)


def flatten(value, tensors, stand_in=lambda value: None):
    """A hashable tree of `value`, without its tensors, which are appended to `tensors`.

    ``stand_in(value)`` may return another representation of a value in the tree.
    """
    kind = type(value)
    if isinstance(value, Tensor):
        tensors.append(value)
        return TENSOR
    if kind in PLAIN:
        return Constant.of(value)
    if kind is slice or kind is range:  # ranges are equal if their elements are
        return Tree(kind, (), tuple([Constant.of(v) if type(v) in PLAIN else flatten(v, tensors, stand_in)
                                     for v in (value.start, value.stop, value.step)]))
    found = stand_in(value)
    return flatten_contents(value, tensors, stand_in) if found is None else found


def flatten_contents(value, tensors, stand_in):
    """``flatten``, without a stand-in for the value itself."""
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        return Unequal(value) if value.nbytes > LARGE or value.dtype.hasobject else ArrayValue(value)
    if isinstance(value, tuple | list | set | frozenset | collections.deque):
        keys = (value.maxlen,) if isinstance(value, collections.deque) else ()
        children, attributes = tuple([flatten(v, tensors, stand_in) for v in value]), vars_of(value)
        if not attributes:
            return Tree(kind, keys, children)
        more = [flatten(v, tensors, stand_in) for v in attributes.values()]
        return Tree(CopyOf(value), (None, *attributes), (Tree(list, keys, children), *more))
    if isinstance(value, dict):
        keys = flatten_keys(value, tensors, stand_in)
        children = tuple([flatten(v, tensors, stand_in) for v in value.values()])
        if kind is dict:
            return Tree(kind, keys, children)
        attributes, factory = vars_of(value), Identity(getattr(value, "default_factory", None))
        more = [flatten(v, tensors, stand_in) for v in attributes.values()]
        return Tree(CopyOf(value), (None, FACTORY, *attributes), (Tree(dict, keys, children), factory, *more))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        state = fields_of(value)
        return Tree(CopyOf(value), tuple(state), tuple([flatten(v, tensors, stand_in) for v in state.values()]))
    return Unequal(value) if advances(value) else Identity(value)


def flatten_keys(keys, tensors, stand_in):
    """The keys of a dict: strings as a tuple, others as a tree, since 1, 1.0 and True are equal."""
    if {*map(type, keys)} <= {str}:
        return tuple(keys)
    return Tree(tuple, (), tuple([flatten(key, tensors, stand_in) for key in keys]))


def unflatten_keys(keys, tensors, containers, shared):
    return keys if type(keys) is tuple else unflatten(keys, tensors, containers, shared)


def opaque_leaves(tree):
    """The values in a tree that are neither tensors nor containers."""
    if type(tree) is Tree:
        parts = tree.children if type(tree.keys) is tuple else (tree.keys, *tree.children)
        return [value for part in parts for value in opaque_leaves(part)]
    return [tree.value] if type(tree) in (Identity, Unequal) else []


def vars_of(container):
    """The attributes of a container, if its class is a user's."""
    return getattr(container, "__dict__", {})


def fields_of(value):
    """The attributes of a dataclass instance: its fields, and others that were set."""
    names = {f.name: None for f in dataclasses.fields(value)} | dict.fromkeys(getattr(value, "__dict__", ()))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def unflatten(tree, tensors, containers=(), shared=None):
    """The value of a tree, with its tensors taken from the iterator `tensors`.

    Args:
        containers: those among the arguments of the call.
        shared: {id of a tree that occurs more than once: its value, None before it is built}.
    """
    if tree is TENSOR:
        return next(tensors)
    if not shared or id(tree) not in shared:
        return build(tree, tensors, containers, shared)
    if shared[id(tree)] is None:
        shared[id(tree)] = build(tree, tensors, containers, shared)
    return shared[id(tree)]


def build(tree, tensors, containers, shared):
    """The value of a tree that is not TENSOR."""
    kind = type(tree)
    if kind is ArgumentContainer:
        return containers[tree.nr]
    if kind is ArrayValue:
        return tree.value.copy("K") if tree.value.ndim else tree.value.copy()
    if kind is not Tree:
        return tree.value
    keys = unflatten_keys(tree.keys, tensors, containers, shared)
    children = [unflatten(child, tensors, containers, shared) for child in tree.children]
    kind = tree.kind
    if kind is dict:
        return dict(zip(keys, children, strict=True))
    if type(kind) is CopyOf:
        return rebuild(kind.value, keys, children)
    if kind is slice or kind is range or hasattr(kind, "_fields"):
        return kind(*children)
    return kind(children, *keys)


def rebuild(value, names, children):
    """A copy of the container `value` with other contents (under the name None) and attributes."""
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
    """The mutable containers among the arguments of a call."""
    return containers_in((args, *kwargs.values()), [])


def containers_in(value, found):
    """Appends the mutable containers in `value`, in depth-first order."""
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
