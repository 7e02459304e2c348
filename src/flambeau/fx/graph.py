"""Graphs: programs as lists of nodes."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from ._code import Namespace, Writer, snake_case
from .node import Node, map_arg

__all__ = ["Graph", "PythonCode"]

STILL_USED = "Tried to erase Node {node} but it still had {count} users in the graph: {users}!"
NOT_OF_GRAPH = "Argument '{node}' of Node '{name}' does not belong to this Graph, but was used as an argument!"
DEFINED_LATER = "Argument '{node}' of Node '{name}' was used before it has been defined: move it up.\n{graph}"
TWICE = "Node redefined name {name}!"


class PythonCode(NamedTuple):
    """The source of a function, and the globals it uses."""

    src: str
    globals: dict[str, Any]


class _Nodes:
    """The ordered nodes of a graph, as a sequence that may be modified during iteration."""

    def __init__(self, graph, direction="_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return sum(1 for _ in self)

    def __iter__(self):
        node = getattr(self.graph._root, self.direction)
        while node.op != "root":
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return _Nodes(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """A program: inputs, calls and an output, in execution order."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._names = Namespace()
        self.owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras

    @property
    def nodes(self):
        """The nodes in order."""
        return _Nodes(self)

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes with the given op, and target if given."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self):
        """The output node."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    # ---- making nodes

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Adds a node at the insertion point, which is the end unless set by inserting_before or inserting_after."""
        node = Node(self, self._names.create_name(name or self._candidate(op, target)), op, target, args or (),
                    kwargs or {}, type_expr)
        self._insert(node)
        return node

    @staticmethod
    def _candidate(op, target):
        if op == "call_function":
            return snake_case(getattr(target, "__name__", type(target).__name__))
        return snake_case(target)

    def placeholder(self, name, type_expr=None, default_value=...):
        """Adds an input."""
        default = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, default, {}, None, type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """Adds an attribute access."""
        return self.create_node("get_attr", qualified_name, (), {}, None, type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Adds a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """Adds a call of a method of its first argument."""
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """Adds a call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, None, type_expr)

    def output(self, result, type_expr=None):
        """Adds the output."""
        return self.create_node("output", "output", (result,), {}, None, type_expr)

    def node_copy(self, node, arg_transform=lambda x: x):
        """Adds a copy of a node of another graph, with transformed arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copy = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copy.meta = dict(node.meta)
        return copy

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies all nodes of another graph except the output; returns the value of the output."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # ---- where nodes go

    def inserting_before(self, n=None):
        """Inserts new nodes before `n` (default: at the beginning), permanently or as a context manager."""
        return self._inserting((n or self._root._next).prepend if n is not None else self._root.append)

    def inserting_after(self, n=None):
        """Inserts new nodes after `n` (default: at the end), permanently or as a context manager."""
        return self._inserting(_After(n) if n is not None else self._root.prepend)

    def _inserting(self, insert):
        previous, self._insert = self._insert, insert
        return _Restore(self, previous)

    # ---- changes

    def erase_node(self, to_erase):
        """Removes a node without users."""
        if to_erase.users:
            raise RuntimeError(STILL_USED.format(node=to_erase, count=len(to_erase.users), users=to_erase.users))
        if not to_erase._erased:
            to_erase._set((), {})
            to_erase._unlink()  # keeps its own links, for ongoing iterations
            to_erase._erased = True

    def eliminate_dead_code(self, is_impure_node=None):
        """Removes calls whose values are unused; returns whether there were any."""
        is_impure, found = is_impure_node or Node.is_impure, False
        for node in list(reversed(self.nodes)):
            if not node.users and not is_impure(node):
                self.erase_node(node)
                found = True
        return found

    def lint(self):
        """Raises if the graph is malformed: foreign nodes, uses before definitions, invalid paths."""
        seen, names = set(), set()
        for node in self.nodes:
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(NOT_OF_GRAPH.format(node=used, name=node))
                if used not in seen:
                    raise RuntimeError(DEFINED_LATER.format(node=used, name=node, graph=self))
            if node.name in names:
                raise RuntimeError(TWICE.format(name=node.name))
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_path(node)

    def _check_path(self, node):
        found = self.owning_module
        for part in node.target.split("."):
            if not hasattr(found, part):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part}")
            found = getattr(found, part)

    # ---- text

    def python_code(self, root_module="self", *, verbose=False):
        """The source of a function equivalent to the graph."""
        return PythonCode(*Writer(root_module).function(list(self.nodes)))

    def print_tabular(self):
        """Prints the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [tuple(map(str, (n.op, n.name, n.target, n.args, n.kwargs))) for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, tuple("-" * width for width in widths))
        print("\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows))

    def __str__(self):
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def __deepcopy__(self, memo):
        copy = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        memo[id(self)] = copy
        values = {}
        result = copy.graph_copy(self, values, return_output_node=True)
        if result is not None:
            output = copy.output(result[0], result[1].type)
            output.meta = dict(result[1].meta)
        return copy


class _After:
    """Inserts nodes after a node, each one after the previous one."""

    def __init__(self, node):
        self.node = node

    def __call__(self, node):
        self.node.append(node)
        self.node = node


class _Restore(contextlib.AbstractContextManager):
    def __init__(self, graph, insert):
        self.graph, self.insert = graph, insert

    def __exit__(self, *exc):
        self.graph._insert = self.insert
