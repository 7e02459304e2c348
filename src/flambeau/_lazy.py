"""Submodules that are imported on first access, so that ``import flambeau`` stays fast."""

import importlib
import sys

NO_ATTRIBUTE = "module {package!r} has no attribute {name!r}"


def lazy_submodules(package, names, members=None):
    """A module's ``__getattr__`` and ``__dir__`` that import the submodules `names` on first access.

    `members` maps other lazily imported names to their submodules.

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
