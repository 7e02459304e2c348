"""Replacing of parts of a graph: whatever looks like one function becomes another."""

from __future__ import annotations

from typing import NamedTuple

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .node import Node

__all__ = ["Match", "replace_pattern"]

NO_OUTPUT = "replace_pattern: the pattern has to return one value that it computes, not {output!r}"


class Match(NamedTuple):
    """A part of a graph like the pattern: its last node, and the node (or value) for each node of the pattern."""

    anchor: Node
    nodes_map: dict


def replace_pattern(gm, pattern, replacement):
    """Makes `replacement` of every part of a GraphModule's graph that does what `pattern` does; returns the matches.

    Both are functions, modules or graphs, of the same inputs. Parts do not overlap, and values inside of one that
    others use keep it from being replaced.

    Example::

        >>> from flambeau import fx
        >>> traced = fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
        >>> len(fx.replace_pattern(traced, lambda x: x.relu(), lambda x: x.tanh()))
        1
        >>> [node.name for node in traced.graph.nodes]
        ['x', 'add', 'tanh', 'mul', 'output']
    """
    pattern, replacement = _graph_of(pattern), _graph_of(replacement)
    last = pattern.output_node().args[0]
    if not isinstance(last, Node) or last.op == "placeholder":
        raise ValueError(NO_OUTPUT.format(output=last))
    matches, taken = [], set()
    for node in gm.graph.nodes:
        found: dict = {}
        if _looks_like(last, node, found):
            inside = _inside(found)
            if taken.isdisjoint(inside) and _is_closed(inside, node):
                matches.append(Match(node, found))
                taken.update(inside)
    for place, match in enumerate(matches):
        _replace(gm.graph, match, pattern, replacement, matches[place + 1:])
    gm.recompile()
    return matches


def _graph_of(thing):
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


def _inputs(graph):
    return [node for node in graph.nodes if node.op == "placeholder"]


def _inside(found):
    """The nodes that a match replaces."""
    return {node for part, node in found.items() if part.op != "placeholder"}


def _looks_like(part, value, found):
    """Whether an argument of a graph is like one of the pattern; notes which node stands for which."""
    if isinstance(part, Node):
        if part in found:
            return found[part] is value
        if part.op != "placeholder":
            if not isinstance(value, Node) or (part.op, part.target) != (value.op, value.target):
                return False
            if not _looks_like((part.args, part.kwargs), (value.args, value.kwargs), found):
                return False
        found[part] = value
        return True
    if isinstance(part, tuple | list):
        return isinstance(value, tuple | list) and len(part) == len(value) and all(
            _looks_like(a, b, found) for a, b in zip(part, value, strict=True)
        )
    if isinstance(part, dict):
        return isinstance(value, dict) and part.keys() == value.keys() and all(
            _looks_like(part[key], value[key], found) for key in part
        )
    return not isinstance(value, Node) and type(part) is type(value) and part == value


def _is_closed(inside, last):
    """Whether nobody else uses what is computed on the way to the last node."""
    return all(node is last or inside.issuperset(node.users) for node in inside)


def _replace(graph, match, pattern, replacement, later):
    values = [match.nodes_map.get(node) for node in _inputs(pattern)]
    with graph.inserting_before(match.anchor):
        new = graph.graph_copy(replacement, dict(zip(_inputs(replacement), values, strict=True)))
    match.anchor.replace_all_uses_with(new)
    for other in later:  # which may have the old node as an input
        other.nodes_map.update({part: new for part, node in other.nodes_map.items() if node is match.anchor})
    inside = _inside(match.nodes_map)
    for node in reversed([node for node in graph.nodes if node in inside]):
        graph.erase_node(node)
