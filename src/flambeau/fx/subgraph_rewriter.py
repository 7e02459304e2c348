"""Replaces subgraphs that match a pattern."""

from __future__ import annotations

from typing import NamedTuple

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .node import Node

__all__ = ["Match", "replace_pattern"]

NO_OUTPUT = "replace_pattern: the pattern has to return one value that it computes, not {output!r}"


class Match(NamedTuple):
    """A subgraph that matches the pattern: its last node, and the node (or value) for each pattern node."""

    anchor: Node
    nodes_map: dict


def replace_pattern(gm, pattern, replacement):
    """Replaces every subgraph that matches `pattern` by `replacement`; returns the matches.

    Both are functions, modules or graphs with the same inputs. Matches do not overlap, and are skipped if their inner
    values are used elsewhere.

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
    """Whether an argument of a graph matches one of the pattern; records which nodes correspond."""
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
    """Whether inner values of a match have no users outside of it."""
    return all(node is last or inside.issuperset(node.users) for node in inside)


def _replace(graph, match, pattern, replacement, later):
    values = [match.nodes_map.get(node) for node in _inputs(pattern)]
    with graph.inserting_before(match.anchor):
        new = graph.graph_copy(replacement, dict(zip(_inputs(replacement), values, strict=True)))
    match.anchor.replace_all_uses_with(new)
    for other in later:  # their inputs may include the old node
        other.nodes_map.update({part: new for part, node in other.nodes_map.items() if node is match.anchor})
    inside = _inside(match.nodes_map)
    for node in reversed([node for node in graph.nodes if node in inside]):
        graph.erase_node(node)
