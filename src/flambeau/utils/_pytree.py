"""Pytrees: nested containers that are flattened to their leaves and rebuilt from them.

Tuples, named tuples, lists, dicts, ordered and default dicts and deques are nodes; everything else is a leaf, unless
its class is registered with ``register_pytree_node``.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = [
    "Context", "GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec", "key_get", "keystr",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
    "tree_flatten_with_path", "tree_iter", "tree_is_leaf", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_", "tree_map_only", "tree_map_with_path", "tree_structure", "tree_unflatten",
]

PyTree = Any
Context = Any

ALREADY = "{cls} is already registered as pytree node."
WRONG_COUNT = "`leaves` has length {found} but the spec refers to a pytree that holds {wanted} items ({spec})."
NOT_A_SPEC = "Expected `treespec` to be instance of TreeSpec but got item of type {kind}: pass what tree_flatten gave."
OTHER_TREE = "the trees differ: {mine} has {wanted}, where another argument has {found}"


# ---- kinds of nodes


class NodeDef(NamedTuple):
    """How objects of a class are flattened and unflattened."""

    type: Any  # a class, or namedtuple for all named tuple classes
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None = None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None, **kwargs):
    """Registers `cls` as a node.

    Args:
        cls: the class; subclasses remain leaves.
        flatten_fn: returns (children, context) of an object.
        unflatten_fn: creates an object from children and context.
        flatten_with_keys_fn: like `flatten_fn`, with (key, child) pairs as children.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(ALREADY.format(cls=cls))
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


class SequenceKey(NamedTuple):
    """The key of a child in a sequence."""

    idx: int

    def __str__(self):
        return f"[{self.idx}]"

    def get(self, sequence):
        """The child of another tree at this key."""
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """The key of a child in a dict."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """The child of another tree at this key."""
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """The key of a child that is an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The child of another tree at this key."""
        return getattr(obj, self.name)


def _sequence(cls, context=lambda x: None, make=None):
    def flatten(x):
        return list(x), context(x)

    def flatten_with_keys(x):
        return [(SequenceKey(i), child) for i, child in enumerate(x)], context(x)

    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, make or (lambda children, _: cls(children)), flatten_with_keys)


def _mapping(cls, context, make):
    def flatten(x):
        return list(x.values()), context(x)

    def flatten_with_keys(x):
        return [(MappingKey(key), child) for key, child in x.items()], context(x)

    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, make, flatten_with_keys)


def _make_defaultdict(children, context):
    factory, keys = context
    return defaultdict(factory, zip(keys, children))


def is_namedtuple_class(cls):
    """Whether `cls` is a class of named tuples."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)


def is_namedtuple(obj):
    """Whether `obj` is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


is_namedtuple_instance = is_namedtuple

_sequence(tuple)
_sequence(list)
_sequence(deque, lambda x: x.maxlen, lambda children, maxlen: deque(children, maxlen))
_mapping(dict, lambda x: list(x), lambda children, keys: dict(zip(keys, children)))
_mapping(OrderedDict, lambda x: list(x), lambda children, keys: OrderedDict(zip(keys, children)))
_mapping(defaultdict, lambda x: [x.default_factory, list(x)], _make_defaultdict)
SUPPORTED_NODES[namedtuple] = NodeDef(
    namedtuple, lambda x: (list(x), type(x)), lambda children, cls: cls(*children),
    lambda x: ([(GetAttrKey(name), child) for name, child in zip(x._fields, x)], type(x)),
)
_dict_flatten_with_keys = SUPPORTED_NODES[dict].flatten_with_keys_fn


def _get_node_type(tree):
    """The key of the tree's type in SUPPORTED_NODES."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind


def tree_is_leaf(tree, is_leaf=None):
    """Whether `tree` is not a registered node, or `is_leaf` returns True for it."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# ---- structures


class TreeSpec:
    """The structure of a tree, without its leaves."""

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children):
        self.type, self.context, self._children = type, context, list(children)
        self.num_children = len(self._children)
        self.num_leaves = sum(child.num_leaves for child in self._children) if type is not None else 1
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)

    @property
    def children_specs(self):
        """The structures of the children."""
        return self._children

    def children(self):
        """The structures of the children."""
        return list(self._children)

    def child(self, index):
        """The structure of one child."""
        return self._children[index]

    def is_leaf(self):
        """Whether the structure is a single leaf."""
        return self.type is None

    def flatten_up_to(self, tree):
        """The subtrees of `tree` at the positions of this structure's leaves."""
        if self.type is None:
            return [tree]
        kind = _get_node_type(tree)
        if kind != self.type:
            raise ValueError(OTHER_TREE.format(mine=self, wanted=self.type, found=kind))
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if isinstance(tree, dict):
            if set(tree) != set(self._keys()):
                raise ValueError(OTHER_TREE.format(mine=self, wanted=self._keys(), found=list(tree)))
            children = [tree[key] for key in self._keys()]
        elif len(children) != self.num_children or context != self.context:
            raise ValueError(OTHER_TREE.format(mine=self, wanted=self.num_children, found=len(children)))
        return [part for child, spec in zip(children, self._children) for part in spec.flatten_up_to(child)]

    def _keys(self):
        return self.context[1] if self.type is defaultdict else self.context

    def unflatten(self, leaves):
        """Builds a tree of this structure from `leaves`."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(WRONG_COUNT.format(found=len(leaves), wanted=self.num_leaves, spec=self))
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self.type is None:
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def __eq__(self, other):
        return isinstance(other, TreeSpec) and self._parts() == other._parts()

    def _parts(self):
        return self.type, self.context, self._children

    def __hash__(self):
        return hash((self.type, repr(self.context), tuple(self._children)))

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        inner = (",\n" + " " * (indent + 2)).join(child.__repr__(indent + 2) for child in self._children)
        return f"TreeSpec({getattr(self.type, '__name__', self.type)}, {self.context}, [{inner}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])


PyTreeSpec = TreeSpec
_LEAF = LeafSpec()


# ---- walks


def tree_flatten(tree, is_leaf=None):
    """Returns the leaves as a list, and the structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves, treespec):
    """Builds a tree of the structure `treespec` from `leaves`."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(NOT_A_SPEC.format(kind=type(treespec)))
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The leaves as a list."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """Maps ``func(leaf, ...)`` over the leaves of `tree` and the corresponding subtrees of `rests`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls ``func(leaf, ...)`` for each leaf; returns the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(kinds):
    return kinds if callable(kinds) and not isinstance(kinds, type) else lambda x: isinstance(x, kinds)


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """Maps ``func(leaf)`` over the leaves of given types; called with types and a function only, decorates it."""
    chosen = _only(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether `pred` holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether `pred` holds for any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types_or_pred, pred, tree, is_leaf=None):
    """Whether `pred` holds for all leaves of given types."""
    chosen = _only(type_or_types_or_pred)
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if chosen(leaf))


def tree_any_only(type_or_types_or_pred, pred, tree, is_leaf=None):
    """Whether `pred` holds for any leaf of given types."""
    chosen = _only(type_or_types_or_pred)
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if chosen(leaf))


# ---- with paths


def tree_leaves_with_path(tree, is_leaf=None):
    """(path, leaf) pairs; a path is a tuple of keys."""
    return list(_with_paths((), tree, is_leaf))


def _with_paths(path, tree, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        pairs = [(SequenceKey(i), child) for i, child in enumerate(node.flatten_fn(tree)[0])]
    else:
        pairs = node.flatten_with_keys_fn(tree)[0]
    for key, child in pairs:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_flatten_with_path(tree, is_leaf=None):
    """(path, leaf) pairs, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """Maps ``func(path, leaf, ...)`` over the leaves."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = zip(*pairs) if pairs else ((), ())
    return spec.unflatten(map(func, paths, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def keystr(kp):
    """Formats a path as text: ``['a'][0]``."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """The subtree at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of `tree`, each repeated to match the leaves of `treespec` below it; None if they do not match."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if (kind, context, len(children)) != (treespec.type, treespec.context, treespec.num_children):
        return None
    parts = [_broadcast_to_and_flatten(child, spec, is_leaf) for child, spec in zip(children, treespec.children())]
    return None if None in parts else [leaf for part in parts for leaf in part]
