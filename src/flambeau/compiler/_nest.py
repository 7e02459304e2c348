"""Tensors in nests of tuples, lists, dicts and dataclasses: taken out, and put back."""

from __future__ import annotations

import collections
import copy
import dataclasses
import random
from typing import Any, NamedTuple

import numpy as np

from .._tensor import Tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None))  # values by which two calls can be told apart
NUMBERS = (float, complex)
TENSOR = "tensor"
FACTORY = object()  # stands for the name of a defaultdict's factory
DRAWING = (random.Random, np.random.Generator, np.random.RandomState)


class Nest(NamedTuple):
    """A container: what it is, by which keys it holds its parts, and the parts."""

    kind: Any
    keys: tuple
    parts: tuple


class Plain(NamedTuple):
    """A number, a string or the like; 1, 1.0 and True are different ones, and so are 0.0 and -0.0."""

    kind: type
    value: Any
    zero: str = ""


class Same:
    """Any other object: the same only as itself."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Same and other.value is self.value

    def __hash__(self):
        return id(self.value)


class Elements:
    """A NumPy array, by its elements."""

    __slots__ = ("key", "value")

    def __init__(self, array):
        self.value = array.copy()
        self.key = type(array), array.dtype.str, array.shape, array.tobytes()

    def __eq__(self, other):
        return type(other) is Elements and other.key == self.key

    def __hash__(self):
        return hash(self.key)


class Like:
    """A container that is made anew by copying this one: the same as others of its class."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Like and type(other.value) is type(self.value)

    def __hash__(self):
        return hash(type(self.value))


class Given(NamedTuple):
    """A container among the arguments, by its number."""

    nr: int


class Never:
    """What is different each time: an iterator."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def alike(a, b):
    """Whether two values are plain ones between which nothing can tell."""
    kind = type(a)
    return a is b or (kind is type(b) and kind in PLAIN and a == b
                      and (a != 0 or kind not in NUMBERS or repr(a) == repr(b)))


def gives_on(value):
    """Whether a value is an iterator of Python's own, or draws random numbers: it is another one after each use."""
    kind = type(value)
    return isinstance(value, DRAWING) or (hasattr(kind, "__next__") and not kind.__dictoffset__)


def flatten(value, tensors, keep=lambda value: None):
    """The nest of `value` without its tensors, which are appended to `tensors`. It can be compared and hashed.

    ``keep(value)`` says what stands for a container that is to be kept as it is.
    """
    kind = type(value)
    if isinstance(value, Tensor):
        tensors.append(value)
        return TENSOR
    if kind in PLAIN:
        return Plain(kind, value, repr(value)) if kind in NUMBERS and value == 0 else Plain(kind, value)
    if kind is np.ndarray or isinstance(value, np.generic):
        return Elements(value)
    if kind is slice:
        return Nest(kind, (), tuple([flatten(v, tensors, keep) for v in (value.start, value.stop, value.step)]))
    if kind is range:
        return Plain(kind, value)
    kept = keep(value)
    if kept is not None:
        return kept
    if isinstance(value, tuple | list | set | frozenset | collections.deque):
        parts, extra = [flatten(v, tensors, keep) for v in value], extra_of(value)
        if not extra:
            return Nest(kind, (), tuple(parts))
        more = [flatten(v, tensors, keep) for v in extra.values()]
        return Nest(Like(value), (None, *extra), (Nest(list, (), tuple(parts)), *more))
    if isinstance(value, dict):
        parts = [flatten(v, tensors, keep) for v in value.values()]
        if kind is dict:
            return Nest(kind, tuple(value), tuple(parts))
        extra = extra_of(value)
        more = [Same(getattr(value, "default_factory", None)), *[flatten(v, tensors, keep) for v in extra.values()]]
        return Nest(Like(value), (None, FACTORY, *extra), (Nest(dict, tuple(value), tuple(parts)), *more))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        state = attributes_of(value)
        return Nest(Like(value), tuple(state), tuple([flatten(v, tensors, keep) for v in state.values()]))
    return Never(value) if gives_on(value) else Same(value)


def others_in(nest):
    """The values in a nest that are neither tensors nor taken apart."""
    if type(nest) is Nest:
        return [value for part in nest.parts for value in others_in(part)]
    return [nest.value] if type(nest) in (Same, Never) else []


def extra_of(value):
    """The attributes of a container of the user's own class."""
    return getattr(value, "__dict__", {})


def attributes_of(value):
    """The attributes of a dataclass's object: the fields, and what else was set."""
    names = {f.name: None for f in dataclasses.fields(value)} | dict.fromkeys(getattr(value, "__dict__", ()))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def unflatten(nest, tensors, given=()):
    """The value of which `nest` was made, with the next of `tensors` (an iterator) where tensors were."""
    if nest is TENSOR:
        return next(tensors)
    kind = type(nest)
    if kind is Given:
        return given[nest.nr]
    if kind is Elements:
        return nest.value.copy()
    if kind is not Nest:
        return nest.value
    parts = [unflatten(part, tensors, given) for part in nest.parts]
    kind = nest.kind
    if kind is dict:
        return dict(zip(nest.keys, parts, strict=True))
    if type(kind) is not Like:
        return kind(*parts) if kind is slice or hasattr(kind, "_fields") else kind(parts)
    return made_like(kind.value, nest.keys, parts)


def made_like(value, names, parts):
    """A container like `value` with other contents (under the name None) and attributes."""
    like = copy.copy(value)
    for name, part in zip(names, parts, strict=True):
        if name is None and isinstance(value, tuple | frozenset):
            like = type(value)(*part) if hasattr(value, "_fields") else type(value)(part)
        elif name is None:
            like.clear()
            (like.update if isinstance(like, dict | set) else like.extend)(part)
        elif name is not FACTORY:
            object.__setattr__(like, name, part)
    return like


def containers_in(value, found):
    """Appends the containers in `value` that can be changed, in the order in which they are met."""
    if isinstance(value, Tensor) or type(value) in PLAIN:
        return found
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, tuple | list | set | collections.deque):
        parts = value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = attributes_of(value).values()
    else:
        return found
    if not isinstance(value, tuple):
        found.append(value)
    for part in parts:
        containers_in(part, found)
    return found
