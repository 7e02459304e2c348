"""What a traced function read besides tensors, so that a later call can tell whether its program still holds.

Watched are the attributes of modules, and the global names and closures of the functions that ran. A program holds as
long as they are what they were. What a function sets on modules is noted too: every run of the program sets it again.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import sys
import types

import numpy as np

from .._tensor import Tensor
from ..nn.modules._hooks import KINDS, Hooks
from ..nn.modules.module import Module
from ._nest import PLAIN, Elements
from ._places import MISSING, Argument, Item

_FOREIGN = {"flambeau", "jax", "jaxlib", "ml_dtypes", "numpy", *sys.stdlib_module_names} - {"__main__"}
CONTAINERS = (dict, list, tuple, set, Hooks, np.ndarray)
_TABLES = ("_parameters", "_buffers", "_modules")
_methods = {name: getattr(Module, name) for name in ("__getattr__", "__setattr__", "__delattr__")}


class Contents:
    """What a container holds, for comparison: plain values by value, arrays by their elements, others by identity."""

    def __init__(self, container, depth=4):
        self.container = container
        self.kind = type(container)
        self.elements = Elements(container) if self.kind is np.ndarray else None
        self.keys = list(container) if isinstance(container, dict) else ()
        self.held = [(v, Contents(v, depth - 1) if depth and isinstance(v, CONTAINERS) else None)
                     for v in parts_of(container)]

    def still(self):
        """Whether the container holds what it held."""
        return self.same(self.container)

    def same(self, container):
        if type(container) is not self.kind:
            return False
        if self.elements is not None:
            return Elements(container) == self.elements
        if self.keys and not all([a is b or (type(a) is str and a == b) for a, b in zip(container, self.keys)]):
            return False
        parts = parts_of(container)
        if len(parts) != len(self.held):
            return False
        for now, (was, inner) in zip(parts, self.held):
            if inner is not None:
                if not inner.same(now):
                    return False
            elif now is not was and (type(now) is not type(was) or type(now) not in PLAIN or now != was):
                return False
        return True


def parts_of(container):
    """What a container holds, in order."""
    if isinstance(container, dict):
        return container.values()
    if isinstance(container, Hooks):
        return [getattr(container, kind) for kind in KINDS]
    return () if isinstance(container, np.ndarray) else container


class Watch:
    """Notes what is read and set while it runs.

    Args:
        arguments: the tensors among the arguments of the function.
    """

    def __init__(self, arguments):
        self.paths = {id(t): Argument(nr) for nr, t in enumerate(arguments)}  # id of a tensor -> where it is found
        self.items = []  # [table, key, value, name for people]
        self.containers = []  # (Contents, name for people)
        self.kinds = []  # (table, key, class of a tensor, name)
        self.known = set()
        self.set = {}  # (id of a module, name) -> (module, name)
        self.before = {}  # id of an object -> (it, its attributes, its tables if it is a module)
        self.importing = 0  # how deep in the import system: what runs there is not the function's
        self.codes = {}  # of functions that ran -> the names in them

    @contextlib.contextmanager
    def running(self):
        Module.__getattribute__ = self.getattribute()
        Module.__getattr__ = self.getattr()
        Module.__setattr__ = self.changing("__setattr__")
        Module.__delattr__ = self.changing("__delattr__")
        profile = sys.getprofile()
        sys.setprofile(self.profile)
        try:
            yield
        finally:
            sys.setprofile(profile)
            del Module.__getattribute__
            for name, method in _methods.items():
                setattr(Module, name, method)
            for thing, attributes, tables in self.before.values():
                thing.__dict__.clear()
                thing.__dict__.update(attributes)
                for name, table in tables.items():
                    attributes[name].clear()
                    attributes[name].update(table)

    # ---- modules

    def getattribute(self):
        def __getattribute__(module, name):
            value = object.__getattribute__(module, name)
            if name[:2] != "__":
                self.saw(module, name, value)
            return value

        return __getattribute__

    def getattr(self):
        original = _methods["__getattr__"]

        def __getattr__(module, name):
            value = original(module, name)
            self.saw(module, name, value)
            return value

        return __getattr__

    def changing(self, method):
        original = _methods[method]

        @functools.wraps(original)
        def change(module, name, *value):
            if "_modules" in module.__dict__ and id(module) not in self.before:
                attributes = dict(module.__dict__)
                self.before[id(module)] = (module, attributes, {t: dict(attributes[t]) for t in _TABLES})
            original(module, name, *value)
            self.set[id(module), name] = (module, name)

        return change

    def all_set(self):
        """(object, name, value) of the attributes that were set; MISSING where they were deleted."""
        found = []
        for module, name in self.set.values():
            value = module.__dict__.get(name, MISSING)
            for table in (module._parameters, module._buffers, module._modules):
                value = table.get(name, value)
            found.append((module, name, value))
        for thing, before, _ in self.before.values():
            if not isinstance(thing, Module):
                now = thing.__dict__
                found.extend((thing, name, now.get(name, MISSING)) for name in {**before, **now}
                             if now.get(name, MISSING) is not before.get(name, MISSING))
        return found

    def saw(self, module, name, value):
        """Notes the attribute of a module, unless the function itself has set it."""
        if (id(module), name) in self.set or (id(module), name) in self.known:
            return
        self.known.add((id(module), name))
        attributes = object.__getattribute__(module, "__dict__")
        label = f"{type(module).__name__}.{name}"
        for table in (attributes, *(attributes.get(t, {}) for t in _TABLES)):
            if name in table:
                self.depends(table, name, value, label)
                return
        for cls in type(module).__mro__:
            if name in cls.__dict__:
                found = cls.__dict__[name]
                if not callable(found) and not hasattr(found, "__get__"):
                    self.items.append([attributes, name, MISSING, label])
                    self.depends(cls.__dict__, name, value, label)
                return

    def depends(self, table, key, value, label):
        """The program holds only as long as `key` of `table` is `value`, or, of a tensor, another one like it."""
        if isinstance(value, Tensor):
            self.paths.setdefault(id(value), Item(table, key))
            self.kinds.append((table, key, type(value), label))
        else:
            self.items.append([table, key, value, label])
            if isinstance(value, CONTAINERS):
                self.containers.append((Contents(value), label))
            elif isinstance(value, types.FunctionType):
                self.closure(value)

    def object(self, thing, *names):
        """Notes attributes of an object that is not a module."""
        for name in names:
            if (id(thing), name) not in self.known:
                self.known.add((id(thing), name))
                self.depends(thing.__dict__, name, thing.__dict__[name], f"{type(thing).__name__}.{name}")

    # ---- functions, and plain objects that they are given

    def profile(self, frame, event, arg):
        module = frame.f_globals.get("__name__")
        if module == "importlib._bootstrap":
            self.importing += (event == "call") - (event == "return")
        if event != "call" or self.importing or is_foreign(module):
            return
        code = frame.f_code
        names = self.codes.get(code)
        if names is None:
            names = self.codes[code] = NamesOf(code)
        for name in names.globals:
            if name in frame.f_globals and (id(frame.f_globals), name) not in self.known:
                self.known.add((id(frame.f_globals), name))
                value = frame.f_globals[name]
                if not isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
                    self.depends(frame.f_globals, name, value, f"the global name {name}")
                    self.explore(value, names)
        for value in list(frame.f_locals.values()):
            self.explore(value, names)

    def explore(self, thing, names, depth=3):
        """Notes the attributes that code with these names may read from a plain object."""
        if not is_object(thing) or not depth:
            return
        attributes = thing.__dict__
        if not isinstance(thing, Module) and id(thing) not in self.before:
            self.before[id(thing)] = (thing, dict(attributes), {})
        for name in names.read & attributes.keys():
            if not isinstance(thing, Module) and (id(thing), name) not in self.known:
                self.known.add((id(thing), name))
                self.depends(attributes, name, attributes[name], f"{type(thing).__name__}.{name}")
            self.explore(attributes[name], names, depth - 1)

    def closure(self, function):
        """Notes what a function has closed over."""
        if not isinstance(function, types.FunctionType):
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) not in self.known:
                self.known.add(id(cell))
                with contextlib.suppress(ValueError):  # of a cell that is empty
                    value = cell.cell_contents
                    self.depends(CellItem(cell), "cell_contents", value, f"the closed-over name {name}")
                    self.explore(value, NamesOf(function.__code__))

    # ---- a later call

    def forget(self):
        """Lets go of what only the trace needed."""
        self.paths = self.known = self.set = self.before = self.codes = None

    def changed(self):
        """What has changed since, in words; None if nothing has."""
        for item in self.items:
            table, key, value, label = item
            got = table.get(key, MISSING)
            if got is not value:
                if type(got) is not type(value) or type(got) not in PLAIN or got != value:
                    return f"{label} was {shown(value)} and is {shown(got)}"
                item[2] = got
        for table, key, kind, label in self.kinds:
            if type(table.get(key)) is not kind:
                return f"{label} was a {kind.__name__} and is {shown(table.get(key))}"
        for held, label in self.containers:
            if not held.still():
                return f"{label} holds something else"
        return None


class NamesOf:
    """The names in a function's code: those it takes from its globals, and those it reads from objects."""

    def __init__(self, code):
        self.globals, self.read = set(), set()
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                self.globals.add(instruction.argval)
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                self.read.add(instruction.argval)


def is_foreign(module):
    """Whether a module, given by its name, is no place of users' code."""
    return module is None or module.partition(".")[0] in _FOREIGN


def is_object(value):
    """Whether a value is a module, or an object of a class of the user's."""
    return isinstance(value, Module) or (hasattr(value, "__dict__") and not isinstance(value, type | Tensor)
                                         and not is_foreign(type(value).__module__))


class CellItem:
    """A closure's cell, read like a dict."""

    __slots__ = ("cell",)

    def __init__(self, cell):
        self.cell = cell

    def get(self, key, default=None):
        return getattr(self.cell, key, default)


def shown(value):
    return "absent" if value is MISSING else repr(value) if type(value) in PLAIN else f"a {type(value).__name__}"
