"""Symbolic tracing: runs a function or a module's forward with proxies, and records a graph."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import math
import types

from .. import overrides
from .._tensor import Tensor
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]

NOT_A_SUBMODULE = "module is not installed as a submodule: {module!r}. Assign it to an attribute of the traced module."
NOT_WRAPPABLE = "wrap() must be given a function, or its name as a string, not {kind}"
NOT_AT_TOP = "wrap must be called at the top level of a module"

_wrapped: dict[tuple[int, str], tuple[dict, str]] = {}  # (id of a module's globals, name): (globals, name)


def wrap(fn_or_name):
    """Records calls of a function as nodes, in programs that call it by its global name.

    Called at the top level of the module that has the function, with it or its name, or as a decorator.
    """
    if not isinstance(fn_or_name, str) and not callable(fn_or_name):
        raise RuntimeError(NOT_WRAPPABLE.format(kind=type(fn_or_name).__name__))
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError(NOT_AT_TOP)
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped[id(frame.f_globals), name] = frame.f_globals, name
    return fn_or_name


def symbolic_trace(root, concrete_args=None):
    """Traces a module or function to a GraphModule."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


class Tracer(TracerBase):
    """Traces programs; subclasses decide which modules are leaves and how calls are recorded.

    Args:
        autowrap_modules: Python modules whose functions are recorded when called with proxies.
        autowrap_functions: functions to record, whatever global name they are called by.
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        self._autowrap_functions = {
            id(function) for module in autowrap_modules for name, function in vars(module).items()
            if not name.startswith("_") and callable(function)
        } | {id(function) for function in autowrap_functions}
        self._autowrap_modules = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.root = None

    # ---- what subclasses may change

    def is_leaf_module(self, m, module_qualified_name):
        """Whether a call of the module is a single node: true for modules of ``torch.nn``, except Sequential."""
        return type(m).__module__.startswith(("flambeau.nn", "torch.nn")) and not isinstance(m, Sequential)

    def call_module(self, m, forward, args, kwargs):
        """Handles a call of a submodule: records a node, or traces its forward."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """Handles an attribute access: returns a proxy for parameters, and the value otherwise."""
        if isinstance(attr_val, Parameter):
            path = self._path_of_tensor(attr_val)
            if path is not None:
                if path not in parameter_proxy_cache:
                    parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {})
                return parameter_proxy_cache[path]
        return attr_val

    def path_of_module(self, mod):
        """The path of a submodule relative to the root."""
        path = self._module_paths.get(mod)
        if path is None:
            path = next((name for name, found in self.root.named_modules() if found is mod), None)
        if path is None:
            raise NameError(NOT_A_SUBMODULE.format(module=mod))
        return path

    # ---- arguments

    def create_arg(self, a):
        """Converts an argument to be stored on a node; tensors become get_attr nodes."""
        if isinstance(a, Tensor):
            path = self._path_of_tensor(a)
            if path is None:
                path = self._new_constant(a)
            return self.create_node("get_attr", path, (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    def _path_of_tensor(self, tensor):
        return self._tensor_paths.get(id(tensor))

    def _new_constant(self, tensor):
        number = 0
        while hasattr(self.root, name := f"_tensor_constant{number}"):
            number += 1
        self._tensor_paths[id(tensor)] = name
        setattr(self.root, name, tensor)
        return name

    # ---- the trace

    def trace(self, root, concrete_args=None):
        """Records the graph of a module or function; inputs in `concrete_args` are fixed to these values."""
        overrides.enable_overrides()  # so that functions dispatch to proxies
        if isinstance(root, Module):
            self.root, function = root, type(root).forward
        else:
            self.root, function = Module(), root
        self._module_paths = {module: name for name, module in self.root.named_modules()}
        self._tensor_paths = {id(tensor): name for name, tensor in _tensors(self.root)}
        self.graph = Graph(tracer_cls=type(self))
        with contextlib.ExitStack() as patches:
            self._patch_modules(patches)
            inputs, keywords, stars = self._inputs(function, isinstance(root, Module), concrete_args or {})
            self._patch_functions(patches, function)
            call = _without_stars(function, len(inputs) + len(keywords) + len(stars)) if stars else function
            result = call(*inputs, *keywords.values(), *stars) if stars else function(*inputs, **keywords)
            self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def _inputs(self, function, is_module, concrete):
        """Proxies for the parameters of a function: positional ones, keyword-only ones by name, those with stars."""
        positional, keywords, starred = [self.root] if is_module else [], {}, []
        parameters = list(inspect.signature(inspect.unwrap(function)).parameters.values())[is_module:]
        for parameter in parameters:
            stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
            default = () if parameter.default is parameter.empty else (parameter.default,)
            value = self.create_proxy("placeholder", stars + parameter.name, default, {})
            if parameter.name in concrete:
                value = concrete[parameter.name]
            if stars:
                starred.append(value)
            elif parameter.kind is parameter.KEYWORD_ONLY:
                keywords[parameter.name] = value
            else:
                positional.append(value)
        return positional, keywords, starred

    def _patch_modules(self, patches):
        """Intercepts module calls and parameter accesses during tracing."""
        call, read, proxies = Module.__call__, Module.__getattr__, {}

        @functools.wraps(call)
        def traced_call(module, *args, **kwargs):
            return self.call_module(module, functools.partial(call, module), args, kwargs)

        @functools.wraps(read)
        def traced_read(module, name):
            return self.getattr(name, read(module, name), proxies)

        for name, function in (("__call__", traced_call), ("__getattr__", traced_read)):
            patches.callback(setattr, Module, name, getattr(Module, name))
            setattr(Module, name, function)

    def _patch_functions(self, patches, function):
        """Makes wrapped functions record nodes when they are called with proxies."""
        spaces = dict(_wrapped)
        names = getattr(inspect.unwrap(function), "__globals__", {})
        for name, value in list(names.items()):
            if id(value) in self._autowrap_functions:
                spaces[id(names), name] = names, name
        spaces.update({(id(vars(m)), name): (vars(m), name) for m in self._autowrap_modules
                       for name, value in vars(m).items() if id(value) in self._autowrap_functions})
        for space, name in spaces.values():
            original = space.get(name, getattr(builtins, name, None))
            if original is None:
                continue
            if name in space:
                patches.callback(space.__setitem__, name, original)
            else:
                patches.callback(space.pop, name)
            space[name] = _recording(original)


def _without_stars(function, count):
    """The function with `count` plain parameters: a proxy takes the place of ``*args``, and one of ``**kwargs``."""
    function = inspect.unwrap(function)
    if inspect.ismethod(function):
        return functools.partial(_without_stars(function.__func__, count + 1), function.__self__)
    code = function.__code__.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0,
        co_flags=function.__code__.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
    )
    return types.FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


def _recording(original):
    """Wraps `original` to record calls with proxies."""

    @functools.wraps(original)
    def function(*args, **kwargs):
        tracers = []
        map_aggregate((args, kwargs), lambda a: tracers.append(a.tracer) if isinstance(a, Proxy) else None)
        if tracers:
            return tracers[0].create_proxy("call_function", original, args, kwargs)
        return original(*args, **kwargs)

    return function


def _tensors(root):
    """(path, tensor) of all tensor attributes of a module and its submodules."""
    for prefix, module in root.named_modules():
        spaces = [vars(module), module._parameters, module._buffers]
        for name, value in [item for space in spaces for item in space.items()]:
            if isinstance(value, Tensor):
                yield f"{prefix}.{name}" if prefix else name, value


