"""Size, the type of tensor shapes, and broadcasting."""

from __future__ import annotations

import math
from operator import index
from typing import SupportsIndex, overload

_of = tuple.__new__  # for what is known to be ints


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints that knows its number of elements. ``+``, ``*`` and slices keep the type."""

    __slots__ = ()

    def __new__(cls, sizes=()):
        try:
            return tuple.__new__(cls, [n if type(n) is int else index(n) for n in sizes])
        except TypeError:
            raise TypeError(f"torch.Size() takes an iterable of 'int', not {sizes!r}") from None

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return _of(Size, item) if type(index) is slice else item

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other) if isinstance(other, list) else other))

    def __radd__(self, other):
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n):
        return _of(Size, tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


def broadcasts(shape, to):
    """Whether a value of `shape` can be broadcast to the shape `to`."""
    return len(shape) <= len(to) and all([n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False)])
