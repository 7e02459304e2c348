"""Result types: named tuples that print and unpack as PyTorch's do, and node names."""

from __future__ import annotations

from operator import itemgetter


class Result(tuple):
    """A tuple with named fields."""

    __slots__ = ()
    _fields: tuple = ()

    def __new__(cls, *values):
        return tuple.__new__(cls, values[0] if len(values) == 1 else values)

    def __repr__(self):
        values = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{values})"

    def __reduce__(self):
        return type(self), (tuple(self),)


TYPES: dict[str, type[Result]] = {}


def result(name, *fields):
    """The type of the results of a function called `name`."""
    names = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    TYPES[name] = cls = type(name, (Result,), {
        "__slots__": (), "__module__": "flambeau.return_types", "_fields": fields, **names,
        "__doc__": f"What ``{name}`` returns: ({', '.join(fields)}).",
    })
    return cls


def rename_node(t, name):
    """Renames the graph node of the new tensor `t` to PyTorch's, if the function is composed differently."""
    if t._node is not None:
        t._node.__class__ = t._node.op.node_class(name)
    return t


def selections(*names):
    """The types of results with ``values`` and ``indices``, by function name."""
    return {name: result(name, "values", "indices") for name in names}
