"""Where a program finds the tensors it needs, each time it runs."""

from __future__ import annotations

MISSING = object()


class Argument:
    """Among the tensors in the arguments."""

    __slots__ = ("nr",)

    def __init__(self, nr):
        self.nr = nr

    def find(self, arguments):
        return arguments[self.nr]


class Item:
    """In a dict: the attributes of a module, its parameters, global names."""

    __slots__ = ("key", "table")

    def __init__(self, table, key):
        self.table = table
        self.key = key

    def find(self, arguments):
        return self.table.get(self.key)


class Gradient:
    """At another tensor, as its gradient."""

    __slots__ = ("of",)

    def __init__(self, of):
        self.of = of

    def find(self, arguments):
        return self.of.find(arguments)._grad


class Fixed:
    """The same tensor each time."""

    __slots__ = ("tensor",)

    def __init__(self, tensor):
        self.tensor = tensor

    def find(self, arguments):
        return self.tensor
