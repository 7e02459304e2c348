"""Nodes: the calls of a program and their arguments."""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable
from typing import Any

import flambeau

from ..functions import asserts
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Argument", "Node", "Target", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")

UNKNOWN_OP = "Node {name} has an unknown op: {op!r}. There are {known}."
WITHOUT_TARGET = "Node [graph = {graph}, name = '{name}'] target {target} has type {kind} but a str is expected"


# ---- arguments


def map_aggregate(a, fn):
    """Maps ``fn(leaf)`` over the leaves of nested tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        parts = [map_aggregate(each, fn) for each in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(each, fn) for key, each in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """Maps ``fn(node)`` over the nodes in an argument."""
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


# ---- names of functions

_HOMES = ("", ".nn.functional", ".special", ".linalg", ".fft")


def qualified_name(function):
    """The qualified name of a function: ``torch.relu``, ``operator.add``, ``builtins.getattr``."""
    name = getattr(function, "__name__", None) or type(function).__name__
    if getattr(builtins, name, None) is function:
        return name
    if getattr(operator, name, None) is function:
        return f"operator.{name}"
    if isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        return f"{function.__objclass__.__module__}.{function.__objclass__.__name__}.{name}"
    module = getattr(function, "__module__", None) or ""
    if module.partition(".")[0] in ("flambeau", "torch"):
        for home in _HOMES:
            space = flambeau
            for part in home.split(".")[1:]:
                space = getattr(space, part)
            if getattr(space, name, None) is function:
                return f"torch{home}.{name}"
        return "torch" + module[module.index("."):] + f".{name}" if "." in module else f"torch.{name}"
    return f"{module}.{name}"


_get_qualified_name = qualified_name


# ---- nodes


class Node:
    """A call, an input, an attribute access, or the output of a program.

    Args:
        graph: the graph it belongs to.
        name: its unique name, which the value has in the code.
        op: one of "placeholder", "get_attr", "call_function", "call_module", "call_method", "output".
        target: the function; the path of the module or attribute; or the name of the method or input.
        args, kwargs: the arguments, with nodes in place of their values.
        type: the type of the value, if known.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in OPS:
            raise AssertionError(UNKNOWN_OP.format(name=name, op=op, known=", ".join(OPS)))
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(WITHOUT_TARGET.format(graph=graph, name=name, target=target, kind=builtins.type(target)))
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple = ()
        self._kwargs: dict = {}
        self._set(args, kwargs)

    def _set(self, args, kwargs):
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def note(node):
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args, self._kwargs = map_arg(tuple(args), note), map_arg(dict(kwargs), note)

    @property
    def args(self):
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, args):
        self._set(args, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self):
        """The distinct nodes among the arguments."""
        return list(self._input_nodes)

    @property
    def next(self):
        """The node after this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    # ---- places

    def prepend(self, x):
        """Moves the node `x` in front of this one."""
        if x is not self:
            x._unlink()
            x._prev, x._next = self._prev, self
            self._prev._next = self._prev = x

    def append(self, x):
        """Moves the node `x` after this one."""
        self._next.prepend(x)

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev

    # ---- changes

    def update_arg(self, idx, arg):
        """Replaces a positional argument."""
        self.args = (*self._args[:idx], arg, *self._args[idx + 1:])

    def insert_arg(self, idx, arg):
        """Inserts a positional argument."""
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key, arg):
        """Replaces a keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Replaces a node among the arguments."""
        def new(node):
            return new_input if node is old_input else node

        self._set(map_arg(self._args, new), map_arg(self._kwargs, new))

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Replaces this node by another in all its users; returns those that were changed."""
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        if propagate_meta:
            replace_with.meta.update(self.meta)
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self):
        """Whether the call has side effects, so that it is kept even if unused."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _SIDE_EFFECTS
        return False

    # ---- text

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """Formats the node as a line of text."""
        users = f"[num_users={len(self.users)}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        head = f"%{self.name} : {users} = {self.op}[target={self._pretty_target()}]"
        if self.op == "placeholder":
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_with_percent(self.args)}, kwargs = {_with_percent(self.kwargs)})"

    def _pretty_target(self):
        if isinstance(self.target, str):
            return self.target
        name = qualified_name(self.target)
        return name if "." in name else f"builtins.{name}"

    def __repr__(self):
        return self.name

    def __lt__(self, other):
        node = self._next
        while node.op != "root":
            if node is other:
                return True
            node = node._next
        return False

    def __gt__(self, other):
        return other < self


def _with_percent(a):
    """Formats an argument with a % before the names of nodes."""
    if isinstance(a, tuple):
        inner = ", ".join(map(_with_percent, a))
        return f"({inner},)" if len(a) == 1 else f"({inner})"
    if isinstance(a, list):
        return f"[{', '.join(map(_with_percent, a))}]"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{key}: {_with_percent(value)}" for key, value in a.items()) + "}"
    return f"%{a.name}" if isinstance(a, Node) else str(a)


_SIDE_EFFECTS = {operator.setitem, asserts._assert}


def has_side_effect(fn):
    """Marks a function as having side effects, so that its calls are kept; returns it."""
    _SIDE_EFFECTS.add(fn)
    return fn
