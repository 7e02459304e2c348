"""Submodules that are imported when somebody first asks for them, so that ``import flambeau`` stays quick."""

from __future__ import annotations

import importlib
import sys

NO_ATTRIBUTE = "module {package!r} has no attribute {name!r}"


def lazy_submodules(package, names, members=None):
    """A module's ``__getattr__`` and ``__dir__``, under which the submodules `names` are there from the start.

    So are `members`: {name: the submodule that it is in}.

    Example::

        __getattr__, __dir__ = lazy_submodules(__name__, ["cuda", "jit"])
    """
    names, members = frozenset(names), members or {}

    def __getattr__(name):
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        if name in members:
            found = getattr(importlib.import_module(f"{package}.{members[name]}"), name)
            setattr(sys.modules[package], name, found)
            return found
        raise AttributeError(NO_ATTRIBUTE.format(package=package, name=name))

    def __dir__():
        return sorted({*vars(sys.modules[package]), *names, *members})

    return __getattr__, __dir__
