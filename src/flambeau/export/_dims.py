"""Dynamic dimensions, whose sizes may differ between calls."""

from __future__ import annotations

import itertools
from typing import ClassVar

NOT_A_DIM = (
    "dynamic_shapes has {value!r} for dimension {dim} of {name}: expected a Dim, Dim.DYNAMIC, Dim.AUTO, Dim.STATIC or "
    "None"
)
NO_SUCH_DIM = "dynamic_shapes names dimension {dim} of {name}, which has {ndim}"
WRONG_COUNT = "dynamic_shapes is for {given} inputs, but there are {count}"
UNKNOWN_NAME = "dynamic_shapes names {name!r}, which is not a parameter of the model's forward: {known}"
TWO_RANGES = "Found different definitions {first} and {other} for the same dimension: one name is one size"
NOT_TENSOR = "dynamic_shapes has {value!r} for {name}, which is not a tensor"

_fresh = itertools.count()


class Dim:
    """A dynamic dimension. Dims with the same name have the same size in each call.

    Args:
        name: its name in messages.
        min, max: the smallest and the largest size.

    Example::

        >>> batch = flambeau.export.Dim("batch", max=64)
        >>> batch
        Dim('batch', min=1, max=64)
    """

    AUTO: ClassVar[_Hint]
    DYNAMIC: ClassVar[_Hint]
    STATIC: ClassVar[_Hint]

    def __init__(self, name, *, min=None, max=None):
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"the name of a Dim must be an identifier, not {name!r}")
        self.__name__ = self.name = name
        self.min = 1 if min is None else int(min)
        self.max = None if max is None else int(max)
        if self.min < 1 or (self.max is not None and self.max < self.min):
            raise ValueError(f"Dim {name!r} cannot have min={min} and max={max}")

    def __repr__(self):
        return f"Dim({self.name!r}, min={self.min}, max={self.max})"


class _Hint:
    """Tells whether a dimension is dynamic."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Dim.{self.name}"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = _Hint("AUTO"), _Hint("DYNAMIC"), _Hint("STATIC")


def dims_of(dynamic_shapes, arguments):
    """{dimension: Dim} for each of the named ``arguments``, in order.

    Args:
        dynamic_shapes: by name or in order: for each argument None, {dimension: Dim}, or a sequence of Dims.
        arguments: {name: value}.
    """
    if dynamic_shapes is None:
        return [{} for _ in arguments]
    if isinstance(dynamic_shapes, dict):
        unknown = dynamic_shapes.keys() - arguments.keys()
        if unknown:
            raise ValueError(UNKNOWN_NAME.format(name=min(unknown), known=", ".join(arguments)))
        wanted = [dynamic_shapes.get(name) for name in arguments]
    else:
        wanted = list(dynamic_shapes)
        if len(wanted) != len(arguments):
            raise ValueError(WRONG_COUNT.format(given=len(wanted), count=len(arguments)))
    found = [dims_of_tensor(spec, name, value) for spec, (name, value) in zip(wanted, arguments.items(), strict=True)]
    known = {}
    return [{i: first_of_name(dim, known) for i, dim in own.items()} for own in found]


def first_of_name(dim, known):
    """The first Dim with the name of `dim`, from the `known` ones; raises if they differ."""
    first = known.setdefault(dim.name, dim)
    if (first.min, first.max) != (dim.min, dim.max):
        raise ValueError(TWO_RANGES.format(first=first, other=dim))
    return first


def dims_of_tensor(spec, name, value):
    if not spec:
        return {}
    if not hasattr(value, "dim"):
        raise ValueError(NOT_TENSOR.format(value=spec, name=name))
    items = spec.items() if isinstance(spec, dict) else enumerate(spec)
    found = {}
    for dim, size in items:
        if not isinstance(dim, int) or not -value.dim() <= dim < value.dim():
            raise ValueError(NO_SUCH_DIM.format(dim=dim, name=name, ndim=value.dim()))
        if size in (Dim.AUTO, Dim.DYNAMIC):
            size = Dim(f"d{next(_fresh)}")
        if isinstance(size, Dim):
            found[dim % value.dim()] = size
        elif size not in (None, Dim.STATIC):
            raise ValueError(NOT_A_DIM.format(value=size, dim=dim, name=name))
    return found
