"""Runs a graph node by node."""

from __future__ import annotations

from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]

TOO_FEW = "Expected positional argument for parameter {name}, but one was not passed in!"
NO_ATTRIBUTE = "Node referenced nonexistent target {path}"


class Interpreter:
    """Runs the graph of a module; subclasses override how each kind of node is executed.

    Args:
        module: the module that has the graph's attributes and submodules.
        garbage_collect_values: whether to free values after their last use.
        graph: the graph, if not the module's.
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph = module, module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict = {}
        self.garbage_collect_values = garbage_collect_values
        self._dead = {}
        if garbage_collect_values:
            last = {}
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if last.setdefault(used, node) is node:
                        self._dead.setdefault(node, []).append(used)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """Runs the graph; `initial_env` has precomputed values of nodes."""
        self.env = dict(initial_env or {})
        self._args = iter(args)
        for node in self.graph.nodes:
            if node not in self.env:
                self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
            for dead in self._dead.get(node, ()):
                del self.env[dead]
        return None

    def run_node(self, n):
        """Computes the value of a node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    # ---- kinds of nodes

    def placeholder(self, target, args, kwargs):
        """The next input."""
        if target.startswith("*"):
            return list(self._args)
        for value in self._args:
            return value
        if not args:
            raise RuntimeError(TOO_FEW.format(name=target))
        return args[0]

    def get_attr(self, target, args, kwargs):
        """The attribute at a path."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """Calls a function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """Calls a method."""
        value, *rest = args
        return getattr(value, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """Calls a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """The output."""
        return args[0]

    # ---- helpers

    def fetch_attr(self, target):
        """The attribute at a path."""
        found, done = self.module, []
        for part in target.split("."):
            done.append(part)
            if not hasattr(found, part):
                raise RuntimeError(NO_ATTRIBUTE.format(path=".".join(done)))
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of a node, with nodes replaced by their values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Replaces nodes in arguments by their values."""
        return map_arg(args, lambda node: self.env[node])


class Transformer(Interpreter):
    """Runs a graph with proxies to create a new one; subclasses override how each kind of node is transformed."""

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = _PlainTracer(self.new_graph, module)

    def placeholder(self, target, args, kwargs):
        """Adds an input to the new graph."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target, args, kwargs):
        """Adds an access of the same attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """Adds a call of the same function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target, args, kwargs):
        """Adds a call of the same method."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """Adds a call of the same submodule."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self):
        """Creates the new module."""
        result = super().run()
        if result is not None:
            self.new_graph.output(map_arg_proxies(result))
        return GraphModule(self.module, self.new_graph)


class _PlainTracer(Tracer):
    def __init__(self, graph, root):
        super().__init__()
        self.graph, self.root = graph, root
        self._tensor_paths, self._module_paths = {}, {}

    def is_leaf_module(self, m, module_qualified_name):
        return True


def map_arg_proxies(result):
    """Replaces proxies in a result by their nodes."""
    return map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a)
