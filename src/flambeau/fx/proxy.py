"""Proxies, which stand in for values during tracing and record operations on them."""

import dis
import enum
import inspect
import operator

from .._tensor import Tensor
from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]

CONTROL_FLOW = "symbolically traced variables cannot be used as inputs to control flow"
ITERATED = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
    "function argument: its length is not known while tracing. Index it, or make the module a leaf of the trace."
)
NO_LENGTH = (
    "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
    "torch.fx.wrap('len') at module scope"
)
NO_ARGUMENT = "argument of type: {kind}"


class TraceError(ValueError):
    """Raised for operations that tracing cannot record."""


class TracerBase:
    """Creates nodes and their proxies."""

    graph = None
    trace_asserts = False

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Adds a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node):
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Adds a node; returns its proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a):
        """Converts an argument to be stored on a node: proxies become nodes."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple | list | dict | slice):
            return map_aggregate(a, self.create_arg)
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, Node | enum.Enum | str | int | float | complex | bytes | type | type(None) | type(Ellipsis)):
            return a
        if callable(a) or type(a).__module__.partition(".")[0] in ("flambeau", "torch", "numpy"):
            return a
        raise NotImplementedError(NO_ARGUMENT.format(kind=type(a)))

    def to_bool(self, obj):
        """Called when a proxy is converted to bool, as in an ``if``."""
        raise TraceError(CONTROL_FLOW)

    def iter(self, obj):
        """Called when a proxy is iterated over, which is possible if the bytecode unpacks a fixed number of values."""
        frame = inspect.currentframe().f_back.f_back
        count = _unpacked(frame)
        if count is None:
            raise TraceError(ITERATED)
        return iter([obj[i] for i in range(count)])

    def keys(self, obj):
        """Called when a proxy is used as ``**kwargs``."""
        return Attribute(obj, "keys")()


def _unpacked(frame):
    """The number of values that the frame's current instruction unpacks, or None."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
            return instruction.argval
    return None


class GraphAppendingTracer(TracerBase):
    """Appends nodes to an existing graph."""

    def __init__(self, graph):
        self.graph = graph


class Proxy:
    """Stands in for the value of a node; operations on it are added to the graph."""

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        if k.startswith("__") and k.endswith("__"):  # looked up by protocols of Python and NumPy
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return self.tracer.iter(self)

    def __bool__(self):
        return self.tracer.to_bool(self)

    def __len__(self):
        raise RuntimeError(NO_LENGTH)

    def __contains__(self, item):
        raise TraceError(CONTROL_FLOW)

    def __hash__(self):
        return id(self)

    def keys(self):
        """For ``**proxy``."""
        return self.tracer.keys(self)

    def __deepcopy__(self, memo):
        return Proxy(self.node, self.tracer)

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        tracer = _tracer_of((args, kwargs))
        if _is_method(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


def _is_method(function):
    return getattr(Tensor, getattr(function, "__name__", ""), None) is function


def _tracer_of(arguments):
    """The tracer of the first proxy among the arguments."""
    found = []
    map_aggregate(arguments, lambda a: found.append(a.tracer) if isinstance(a, Proxy) else None)
    return found[0]


class Attribute(Proxy):
    """An attribute of a proxy: becomes a method call if called, otherwise a getattr node on first use."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self):
        """The node that reads the attribute, created on first access."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


# ---- operators

_BINARY = ["add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul"]
_COMPARE = ["eq", "ne", "lt", "gt", "le", "ge"]
_UNARY = ["pos", "neg", "invert", "abs"]


def _record(function, is_reflected=False):
    def method(self, *operands):
        arguments = (*operands, self) if is_reflected else (self, *operands)
        return self.tracer.create_proxy("call_function", function, arguments, {})

    return method


for _name in [*_BINARY, *_COMPARE, *_UNARY, "getitem"]:
    setattr(Proxy, f"__{_name.rstrip('_')}__", _record(getattr(operator, _name)))
for _name in _BINARY:
    setattr(Proxy, f"__r{_name.rstrip('_')}__", _record(getattr(operator, _name), is_reflected=True))
