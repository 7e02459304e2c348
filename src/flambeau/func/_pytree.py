"""Trees of tuples, lists and dicts: flattened to their leaves, and built again around others."""

from __future__ import annotations

import collections
from typing import Any, NamedTuple


class Spec(NamedTuple):
    """A container without its leaves: what it is, its keys if it is a dict, and the specs of its children."""

    kind: Any
    keys: tuple
    children: tuple

    def __repr__(self):
        if self is LEAF:
            return "*"
        return f"TreeSpec({self.kind.__name__}, {list(self.keys) or None}, {list(self.children)})"


LEAF = Spec(None, (), ())
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)


def _is_container(value):
    kind = type(value)
    return kind in (tuple, list, collections.deque) or kind in _DICTS or (
        isinstance(value, tuple) and hasattr(kind, "_fields"))


def flatten(tree):
    """(leaves, spec) of a tree; a value that is no container is its own leaf."""
    leaves: list = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree, leaves):
    if not _is_container(tree):
        leaves.append(tree)
        return LEAF
    is_dict = isinstance(tree, dict)
    children = tree.values() if is_dict else tree
    return Spec(type(tree), tuple(tree) if is_dict else (), tuple([_flatten(child, leaves) for child in children]))


def unflatten(leaves, spec):
    """The tree of a spec with these leaves."""
    return _unflatten(iter(leaves), spec)


def _unflatten(leaves, spec):
    if spec is LEAF:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children]
    if spec.kind is collections.defaultdict:
        return collections.defaultdict(None, zip(spec.keys, children, strict=True))
    if spec.kind in _DICTS:
        return spec.kind(zip(spec.keys, children, strict=True))
    return spec.kind(*children) if hasattr(spec.kind, "_fields") else spec.kind(children)


def map_tree(function, tree):
    """A tree of what a function makes of the leaves."""
    leaves, spec = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], spec)


def leaves_of(tree):
    """The leaves of a tree."""
    return flatten(tree)[0]


def count_leaves(spec):
    """How many leaves a tree of this spec has."""
    return 1 if spec is LEAF else sum(map(count_leaves, spec.children))


def broadcast(tree, spec):
    """The leaves of `tree`, each repeated for all leaves that `spec` has in its place; None where they do not match."""
    if spec is LEAF or not _is_container(tree):
        return None if _is_container(tree) else [tree] * count_leaves(spec)
    children = tuple(tree.values()) if isinstance(tree, dict) else tuple(tree)
    same = type(tree) is spec.kind and len(children) == len(spec.children)
    if not same or (isinstance(tree, dict) and tuple(tree) != spec.keys):
        return None
    parts = [broadcast(child, inner) for child, inner in zip(children, spec.children, strict=True)]
    return None if None in parts else [leaf for part in parts for leaf in part]
