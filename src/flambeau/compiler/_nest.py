"""Tensors in nests of tuples, lists, dicts and dataclasses: taken out, and put back."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, NamedTuple

import numpy as np

from .._tensor import Tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None))  # values by which two calls can be told apart
TENSOR = "tensor"


class Nest(NamedTuple):
    """A container: what it is, by which keys it holds its parts, and the parts."""

    kind: Any
    keys: tuple
    parts: tuple


class Plain(NamedTuple):
    """A number, a string or the like; 1, 1.0 and True are different ones."""

    kind: type
    value: Any


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
        self.key = array.dtype.str, array.shape, array.tobytes()

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


def flatten(value, tensors):
    """The nest of `value` without its tensors, which are appended to `tensors`. It can be compared and hashed."""
    kind = type(value)
    if isinstance(value, Tensor):
        tensors.append(value)
        return TENSOR
    if kind in PLAIN:
        return Plain(kind, value)
    if kind is np.ndarray:
        return Elements(value)
    if isinstance(value, tuple | list):
        return Nest(kind, (), tuple([flatten(v, tensors) for v in value]))
    if isinstance(value, dict):
        parts = tuple([flatten(v, tensors) for v in value.values()])
        return Nest(dict if kind is dict else Like(value), tuple(value), parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        keys = tuple(f.name for f in dataclasses.fields(value))
        return Nest(Like(value), keys, tuple([flatten(getattr(value, k), tensors) for k in keys]))
    return Same(value)


def unflatten(nest, tensors):
    """The value of which `nest` was made, with the next of `tensors` (an iterator) where tensors were."""
    if nest is TENSOR:
        return next(tensors)
    if type(nest) is not Nest:
        return nest.value
    parts = [unflatten(part, tensors) for part in nest.parts]
    kind = nest.kind
    if kind is dict:
        return dict(zip(nest.keys, parts, strict=True))
    if type(kind) is not Like:
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    like = copy.copy(kind.value)
    if isinstance(like, dict):
        like.update(zip(nest.keys, parts, strict=True))
    else:
        for name, part in zip(nest.keys, parts, strict=True):
            object.__setattr__(like, name, part)
    return like
