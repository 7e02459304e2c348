"""How the interpreter is watched: methods put on classes for a while, and the names in the code of functions."""

from __future__ import annotations

import argparse
import collections
import contextlib
import dis
import enum
import sys

from .._tensor import Tensor
from ..nn.modules.module import Module

_FOREIGN = {"flambeau", "jax", "jaxlib", "ml_dtypes", "numpy", *sys.stdlib_module_names} - {"__main__"}
_OURS = ("flambeau.optim.", "flambeau.distributions.", "flambeau.utils.")  # classes with attributes that users set
_ALSO = (argparse.Namespace, collections.UserDict, collections.UserList)
_NEVER = (Module, Tensor, type, BaseException, enum.Enum, tuple)
_ABSENT = object()


def is_foreign(module):
    """Whether a module, given by its name, is no place of users' code."""
    return type(module) is not str or module.partition(".")[0] in _FOREIGN


def is_made_by_users(cls):
    """Whether a class is of the user's own."""
    return not is_foreign(cls.__module__)


def is_watched(cls):
    ours = cls in _ALSO or str(cls.__module__).startswith(_OURS)
    return (ours or is_made_by_users(cls)) and not issubclass(cls, _NEVER)


def watched_classes():
    """The classes whose objects are watched: of those that inherit from each other, the first."""
    found, seen, order = [], set(), type.__subclasses__(object)
    for cls in order:
        if cls not in seen:
            seen.add(cls)
            if is_watched(cls):
                found.append(cls)
            elif not issubclass(cls, type):
                order.extend(type.__subclasses__(cls))
    return found


@contextlib.contextmanager
def on_classes(watch):
    """Puts methods on classes by which `watch` hears of every attribute that is read and set."""
    before = []
    try:
        for cls in (Module, *watched_classes()):
            for name, method in methods(cls, watch).items():
                was = cls.__dict__.get(name, _ABSENT)
                with contextlib.suppress(TypeError, AttributeError):  # of a class that does not let itself be changed
                    setattr(cls, name, method)
                    before.append((cls, name, was))
        yield
    finally:
        for cls, name, was in reversed(before):
            if was is _ABSENT:
                delattr(cls, name)
            else:
                setattr(cls, name, was)


def methods(cls, watch):
    """The methods that a class is given."""
    get, set_, delete = cls.__getattribute__, cls.__setattr__, cls.__delattr__

    def __getattribute__(thing, name):
        if name[:2] != "__" or (name == "__dict__" and not is_foreign(sys._getframe(1).f_globals.get("__name__"))):
            watch.saw(thing, name)
        return get(thing, name)

    def __setattr__(thing, name, value):
        watch.sets(thing, name)
        set_(thing, name, value)

    def __delattr__(thing, name):
        watch.sets(thing, name)
        delete(thing, name)

    return dict(__getattribute__=__getattribute__, __setattr__=__setattr__, __delattr__=__delattr__)


@contextlib.contextmanager
def noting(errors, found):
    """Appends the errors of these classes that come up."""
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
    """Whether an error got as far as code of the user's own."""
    traceback = error.__traceback__
    return traceback is not None and not is_foreign(traceback.tb_frame.f_globals.get("__name__"))


class NamesOf:
    """The names in a function's code: global ones, those of attributes, and of Python modules that it imports."""

    def __init__(self, code):
        self.globals, self.stored, self.read, self.written, self.imported = set(), set(), set(), set(), set()
        kinds = {"LOAD_GLOBAL": self.globals, "LOAD_NAME": self.globals, "STORE_GLOBAL": self.stored,
                 "DELETE_GLOBAL": self.stored, "LOAD_ATTR": self.read, "LOAD_METHOD": self.read,
                 "IMPORT_FROM": self.read, "STORE_ATTR": self.written, "DELETE_ATTR": self.written,
                 "IMPORT_NAME": self.imported}
        for instruction in dis.get_instructions(code):
            if instruction.opname in kinds:
                kinds[instruction.opname].add(instruction.argval)
