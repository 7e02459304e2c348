"""Modules that run a graph."""

from __future__ import annotations

import copy
import linecache

from .._tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._code import ALWAYS_THERE
from .graph import Graph, PythonCode

__all__ = ["GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
WRONG_ROOT = "Unsupported type {kind} passed for root! It is a module, or a dict of what the graph refers to."
NO_TARGET = "Node {node} referenced target {target} but that target was not provided in `root`!"
HINT = "# To see more debug info, please use `graph_module.print_readable()`"

_number = 0


class GraphModule(Module):
    """A module whose forward is generated from a graph as Python code.

    Args:
        root: the module that has the graph's attributes and submodules, or a dict of them by path; shared, not copied.
        graph: the graph.
        class_name: the name of the module's class.
    """

    def __new__(cls, *args, **kwargs):
        # Each instance has its own class, which holds its forward.
        base = next(c for c in cls.__mro__ if "_is_of_one_module" not in vars(c))
        return super().__new__(type("GraphModuleImpl", (base,), {"_is_of_one_module": True}))

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        paths = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for path in paths:
                _copy_attr(root, self, path)
        elif isinstance(root, dict):
            self._take_from_dict(root, graph)
        else:
            raise RuntimeError(WRONG_ROOT.format(kind=type(root)))
        self.graph = graph
        self.meta = dict(getattr(root, "meta", {})) if isinstance(root, Module) else {}
        self._tracer_cls = graph._tracer_cls

    def _take_from_dict(self, root, graph):
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(NO_TARGET.format(node=node, target=node.target))
                _assign_attr(root[node.target], self, node.target)

    # ---- the graph

    @property
    def graph(self) -> Graph:
        """The graph; call ``recompile()`` after changing it."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of the module's forward."""
        return self._code

    def recompile(self):
        """Regenerates the module's forward from the graph."""
        written = self._graph.python_code("self")
        self._code = written.src
        type(self).forward = _compile(written)
        return written

    def print_readable(self, print_output=True, **kwargs):
        """The code with the class name; printed unless `print_output` is False."""
        lines = self._code.strip().splitlines()
        text = f"class {type(self).__name__}(torch.nn.Module):\n" + "".join(f"    {line}\n" for line in lines)
        if print_output:
            print(text)
        return text

    # ---- submodules

    def add_submodule(self, target, m):
        """Adds a submodule at a path; returns whether that was possible."""
        *path, name = target.split(".")
        module = self
        for part in path:
            if not hasattr(module, part):
                setattr(module, part, Module())
            module = getattr(module, part)
            if not isinstance(module, Module):
                return False
        module.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Removes the submodule at a path; returns whether it existed."""
        *path, name = target.split(".")
        module = self
        for part in path:
            module = getattr(module, part, None)
        if not isinstance(module, Module) or not isinstance(getattr(module, name, None), Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self):
        """Removes the submodules that the graph does not refer to."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("get_attr", "call_module"):
                parts = node.target.split(".")
                used.update(".".join(parts[:i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    inner = self.get_submodule(node.target).named_modules()
                    used.update(f"{node.target}.{name}" for name, _ in inner if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies and text

    def __deepcopy__(self, memo):
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        Module.__init__(copied)
        attributes = {name: value for name, value in vars(self).items() if name != "_graph"}
        vars(copied).update(copy.deepcopy(attributes, memo))
        type(copied).__name__ = type(self).__name__
        copied.graph = copy.deepcopy(self._graph, memo)
        return copied

    def __copy__(self):
        return GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)

    def __reduce__(self):
        state = {name: value for name, value in vars(self).items() if name not in ("_graph", "_code", "_tracer_cls")}
        source, names = self._graph.python_code("self")
        own = {name: value for name, value in names.items() if name not in ALWAYS_THERE}
        return _rebuild, (source, own, state, type(self).__name__)

    def __str__(self):
        return f"{super().__str__()}\n{self._code}\n{HINT}"


def _compile(written):
    """Compiles code to a function; tracebacks show its lines."""
    global _number
    _number += 1
    name = f"<eval_with_key>.{_number}"
    space = {**ALWAYS_THERE, **written.globals}
    exec(compile(written.src, name, "exec", dont_inherit=True), space)
    linecache.cache[name] = len(written.src), None, written.src.splitlines(keepends=True), name
    return space["forward"]


class _CodeOnlyModule(Module):
    """A module of code and attributes, which is traced to rebuild the graph."""

    def __init__(self, body):
        super().__init__()
        vars(self).update(body)


def _rebuild(source, names, state, class_name):
    from ._symbolic_trace import Tracer

    class Leaves(Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return True

    carrier = _CodeOnlyModule(state)
    carrier_class = type(class_name, (_CodeOnlyModule,), {"forward": _compile(PythonCode(source, names))})
    carrier.__class__ = carrier_class
    module = GraphModule(carrier, Leaves().trace(carrier), class_name)
    for name, value in state.items():
        if name not in vars(module):
            setattr(module, name, value)
    return module


# ---- attributes by path


def _copy_attr(from_module, to_module, target):
    """Copies an attribute by path from one module to another, creating intermediate modules."""
    *path, name = target.split(".")
    for part in path:
        inner = getattr(from_module, part)
        if inner is getattr(to_module, part, None):
            return  # already shared
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        from_module, to_module = inner, getattr(to_module, part)
    _set_attr(getattr(from_module, name), to_module, name)


def _assign_attr(value, to_module, target):
    *path, name = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _set_attr(value, to_module, name)


def _set_attr(value, module, name):
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)
