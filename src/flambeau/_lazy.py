"""Submodules that are imported when somebody first asks for them, so that ``import flambeau`` stays quick."""

from __future__ import annotations

import importlib
import sys

NO_ATTRIBUTE = "module {package!r} has no attribute {name!r}"


def lazy_submodules(package, names):
    """A module's ``__getattr__`` and ``__dir__``, under which the submodules `names` are there from the start.

    Example::

        __getattr__, __dir__ = lazy_submodules(__name__, ["cuda", "jit"])
    """
    names = frozenset(names)

    def __getattr__(name):
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(NO_ATTRIBUTE.format(package=package, name=name))

    def __dir__():
        return sorted({*vars(sys.modules[package]), *names})

    return __getattr__, __dir__
