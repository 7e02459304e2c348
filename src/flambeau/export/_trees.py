"""Nested arguments and results as JSON: the containers, and the positions of the tensors."""

from .._tensor import Tensor

NOT_SIMPLE = (
    "export() takes and returns tensors, numbers, strings and None, in tuples, lists and dicts with strings as keys, "
    "but there is a {kind} among the {what}"
)
OTHER_NEST = "the exported program was made for {what} nested as {want}, but got {got}"
PLAIN = (bool, int, float, str, type(None))


def describe(value, leaves, what):
    """The tree of a value; its tensors are appended to `leaves`."""
    if isinstance(value, Tensor):
        leaves.append(value)
        return "tensor"
    if type(value) in PLAIN:
        return {"value": value}
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [describe(v, leaves, what) for v in value]}
    if isinstance(value, dict) and all([type(key) is str for key in value]):
        return {"dict": {key: describe(v, leaves, what) for key, v in value.items()}}
    raise TypeError(NOT_SIMPLE.format(kind=type(value).__name__, what=what))


def build(tree, leaves):
    """The value of a tree, with its tensors taken from the iterator `leaves`."""
    if tree == "tensor":
        return next(leaves)
    (kind, inner), = tree.items()
    if kind == "value":
        return inner
    if kind == "dict":
        return {key: build(v, leaves) for key, v in inner.items()}
    children = [build(v, leaves) for v in inner]
    return tuple(children) if kind == "tuple" else children
