"""Symbolic tracing: a module's forward is recorded as a graph of calls, transformed, and run again as a module.

Example::

    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> [node.name for node in traced.graph.nodes]
    ['x', 'add', 'relu', 'output']
"""

from .._lazy import lazy_submodules as _lazy_submodules
from ._symbolic_trace import Tracer, symbolic_trace, wrap
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, map_arg
from .proxy import Proxy, TraceError
from .subgraph_rewriter import replace_pattern

__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "TraceError", "Tracer", "Transformer", "map_arg",
    "replace_pattern", "symbolic_trace", "wrap",
]

__getattr__, __dir__ = _lazy_submodules(__name__, ["experimental", "passes"])
