"""The names of PyTorch's compiler that programs use; flambeau.compile does the work."""

from __future__ import annotations

from ..compiler import disable, is_compiling, list_backends
from ..compiler._module import OptimizedModule

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "graph_break", "is_compiling",
    "list_backends", "mark_dynamic", "mark_static_address", "reset",
]


def allow_in_graph(fn):
    """Returns the function, or the list of them: what can be traced is."""
    return fn


def assume_constant_result(fn):
    """Returns the function; its result is watched all the same."""
    return fn


def mark_dynamic(t, index, **kwargs):
    """Accepted, without effect: programs are made for shapes."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t, guard=True):
    """Accepted, without effect."""


def graph_break(msg=""):
    """Accepted, without effect."""


def reset():
    """Accepted, without effect: programs belong to the functions that were compiled."""


def is_dynamo_supported():
    """Whether functions can be compiled."""
    return True
