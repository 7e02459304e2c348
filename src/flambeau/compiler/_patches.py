"""How Python code is observed: methods put on classes during tracing, and the names in the code of functions."""

import argparse
import collections
import contextlib
import dis
import enum
import itertools
import logging
import sys
import types

from .._tensor import Tensor
from ..nn.modules.module import Module
from ._trust import WHOLE_STATE, is_foreign, is_ours, is_users

# Packages with classes whose objects are mutable.
_OURS = ("flambeau.amp.", "flambeau.optim.", "flambeau.distributions.", "flambeau.utils.")
_STDLIB = (argparse.Namespace, collections.ChainMap, collections.UserDict, collections.UserList)
_UNWATCHED = (Module, Tensor, type, BaseException, enum.Enum, tuple, types.ModuleType)
_HOOKS = ("__getattribute__", "__setattr__", "__delattr__")
_ABSENT = object()
_BY_NAME = {"getattr", "hasattr", "attrgetter", "methodcaller"}
_OF_PATHS = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_ATTR")
_DYNAMIC = {"getattr", "hasattr", "setattr", "vars", "__dict__", "attrgetter"}  # they access attributes by strings


def is_watched(cls):
    ours = cls in _STDLIB or str(cls.__module__).startswith(_OURS)
    return (ours or is_users(cls)) and not issubclass(cls, _UNWATCHED)


class Patches:
    """Methods on classes that report every attribute access to `watch`, until they are removed.

    A class is patched when one of its objects is reached: of its bases the topmost one, and those that override these
    methods.
    """

    def __init__(self, watch):
        self.watch = watch
        self.classes = set()  # the patched ones
        self.opaque = set()  # those of them that override attribute access
        self.checked_classes = set()
        self.replacements = []
        self.modules = []
        self.module_class = type("module", (types.ModuleType,),
                                 dict(methods(types.ModuleType, watch), __module__="builtins"))
        for cls in (Module, logging.Logger):
            self.patch(cls)

    def add(self, cls):
        """Watches the objects of a class."""
        if cls in self.checked_classes:
            return
        self.checked_classes.add(cls)
        for base in reversed(cls.__mro__):
            if is_watched(base) and base not in self.classes and (
                    self.classes.isdisjoint(base.__mro__) or any(name in base.__dict__ for name in _HOOKS)):
                self.patch(base)

    def patch(self, cls):
        is_opaque = is_users(cls) and "__getattribute__" in cls.__dict__
        try:
            for name, method in methods(cls, self.watch).items():
                self.replacements.append((cls, name, cls.__dict__.get(name, _ABSENT)))  # before an interrupt can come
                setattr(cls, name, method)
        except (TypeError, AttributeError):  # an immutable class
            self.replacements.pop()
            return
        self.classes.add(cls)
        if is_opaque:
            self.opaque.add(cls)

    def add_module(self, module):
        """Watches the attributes of a Python module; returns whether that is possible."""
        if type(module) is types.ModuleType:
            self.modules.append(module)
            module.__class__ = self.module_class
        return type(module) is self.module_class

    def remove(self):
        for cls, name, before in reversed(self.replacements):
            if before is _ABSENT:
                if name in cls.__dict__:
                    delattr(cls, name)
            else:
                setattr(cls, name, before)
        for module in self.modules:
            module.__class__ = types.ModuleType


def methods(cls, watch):
    """The methods for a class."""
    get, set_, delete = cls.__getattribute__, cls.__setattr__, cls.__delattr__

    def __getattribute__(thing, name):
        if name[:2] != "__" or (name in WHOLE_STATE and not is_ours(sys._getframe(1).f_globals.get("__name__", ""))):
            watch.on_read(thing, name)
        return get(thing, name)

    def __getattribute__of_users(thing, name):
        if not is_foreign(sys._getframe(1).f_globals.get("__name__", "")):
            watch.on_read(thing, name)
        return get(thing, name)

    def __setattr__(thing, name, value):
        watch.on_write(thing, name)
        set_(thing, name, value)

    def __delattr__(thing, name):
        watch.on_write(thing, name)
        delete(thing, name)

    if cls is logging.Logger:  # its own accesses do not matter
        return dict(__getattribute__=__getattribute__of_users)
    return dict(__getattribute__=__getattribute__, __setattr__=__setattr__, __delattr__=__delattr__)


@contextlib.contextmanager
def collecting_errors(errors, found):
    """Appends errors of these classes to `found` when they are created."""
    before = {cls: cls.__init__ for cls in errors}

    def init(original):
        def __init__(error, *args):
            original(error, *args)
            found.append(error)

        return __init__

    for cls in errors:
        cls.__init__ = init(before[cls])
    try:
        yield
    finally:
        for cls in errors:
            cls.__init__ = before[cls]


def was_caught_by_user(error):
    """Whether an error has propagated to user code."""
    traceback = error.__traceback__
    return traceback is not None and not is_foreign(traceback.tb_frame.f_globals.get("__name__", ""))


class NamesOf:
    """The names in a function's code: of global variables, attributes, and imported Python modules.

    ``reads`` has the names of attributes and all others in the code, since new versions of Python may read attributes
    by new instructions. ``inspections`` are the paths of objects whose ``__dict__`` or ``vars()`` the code takes.
    """

    def __init__(self, code):
        self.code = code
        self.globals, self.stores, self.writes, self.imports = set(), set(), set(), set()
        kinds = {"LOAD_GLOBAL": self.globals, "LOAD_NAME": self.globals, "STORE_GLOBAL": self.stores,
                 "DELETE_GLOBAL": self.stores, "STORE_ATTR": self.writes, "DELETE_ATTR": self.writes,
                 "IMPORT_NAME": self.imports}
        for instruction in dis.get_instructions(code):
            if instruction.opname in kinds:
                kinds[instruction.opname].add(instruction.argval)
        self.reads = set(code.co_names)
        self.compares_objects = compares_objects(code)
        self.is_dynamic = not _DYNAMIC.isdisjoint(code.co_names)
        if self.is_dynamic:
            self.reads |= {c for c in code.co_consts if type(c) is str and c.isidentifier()}
        self.computes_names = self.is_dynamic and computes_names(code)
        self.inspections = paths_inspected(code)


def computes_names(code):
    """Whether a code may ask for attributes by names that are not among its constants."""
    instructions = executed(code)
    names = [i.opname for i in instructions]
    for nr, i in enumerate(instructions):
        if i.opname.startswith("LOAD") and i.argval in _BY_NAME:
            end = next((n for n in range(nr + 1, len(names)) if not names[n].startswith(_OF_PATHS)), len(names) - 1)
            default = end + 1 < len(names) and names[end + 1].startswith("LOAD")
            if names[end] != "LOAD_CONST" or names[end + 1 + default:][:1] not in (["CALL"], ["KW_NAMES"]):
                return True
    return False


def executed(code):
    """The instructions of a code but for those that only prepare calls."""
    return [i for i in dis.get_instructions(code) if i.opname not in ("PUSH_NULL", "PRECALL")]


def compares_objects(code):
    """Whether the code contains ``x is y`` where neither is a constant."""
    instructions = [*dis.get_instructions(code)]
    return any(i.opname == "IS_OP" and before.opname != "LOAD_CONST" for before, i in itertools.pairwise(instructions))


def paths_inspected(code):
    """The paths of the objects of which code takes ``x.__dict__``, ``vars(x)`` or a patched method without calling it.

    For ``self.config.__dict__`` that is ``("self", "config")``; None for an object reached otherwise.
    """
    found = {None} if "__dict__" in code.co_consts else set()
    instructions = executed(code)
    for nr, i in enumerate(instructions):
        if i.opname == "LOAD_ATTR" and (i.argval == "__dict__" or i.argrepr == i.argval in _HOOKS):
            found.add(path_loaded(instructions[:nr]))
        elif i.opname.startswith("LOAD") and i.argval == "vars":
            end = next(n for n, j in enumerate(instructions) if n > nr and not j.opname.startswith("LOAD"))
            call = instructions[end]
            if call.opname != "CALL" or call.arg != 0 or end > nr + 1:
                path = path_loaded(instructions[nr + 1:end])
                found.add(path if path is not None and len(path) == end - nr - 1 and call.arg == 1 else None)
    stored = {i.argval for i in instructions if i.opname.startswith("STORE") and type(i.argval) is str}
    return {None if path is None or path[0] in stored else path for path in found}


def path_loaded(instructions):
    """The path by which the last of these instructions load an object; None if it is not a plain path."""
    names = []
    for i in reversed(instructions):
        names.append(i.argval[-1] if type(i.argval) is tuple else i.argval)
        if i.opname.startswith(("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")):
            return tuple(reversed(names))
        if i.opname != "LOAD_ATTR":
            break
    return None


def may_be_class(path, frame):
    """Whether the object at a path of a frame is a class, or may be one when the code reads it."""
    if path is None:
        return True
    value = next((table[path[0]] for table in (frame.f_locals, frame.f_globals) if path[0] in table), None)
    for name in path[1:]:
        table = getattr(type(value), "__dictoffset__", 0) and object.__getattribute__(value, "__dict__")
        if not table or name not in table:
            return True
        value = table[name]
    return isinstance(value, type) and value.__module__ != "builtins"
