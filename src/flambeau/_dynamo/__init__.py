"""The names of PyTorch's compiler that programs use; flambeau.compile does the work."""

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset
from ..compiler._module import OptimizedModule
from . import config, eval_frame, utils

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "graph_break", "is_compiling",
    "config", "list_backends", "mark_dynamic", "mark_static_address", "reset",
]


def mark_dynamic(t, index, **kwargs):
    """Accepted, without effect: programs are made for shapes."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t, guard=True):
    """Accepted, without effect."""


def graph_break(msg=""):
    """Accepted, without effect."""


def is_dynamo_supported():
    """Whether functions can be compiled."""
    return True
