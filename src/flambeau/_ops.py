"""``torch.ops``: operators by the name of a library. PyTorch's own are Flambeau's functions."""

from __future__ import annotations

import sys
import types

import flambeau

NO_LIBRARY = "{path}: Flambeau loads no compiled extensions of PyTorch"
NO_OPERATOR = "'_OpNamespace' '{library}' object has no attribute '{name}'"


class Library(types.ModuleType):
    """The operators of one library; ``aten`` and ``prims`` have PyTorch's."""

    def __getattr__(self, name):
        if self.__name__ == "aten" and not name.startswith("__"):
            for module in (flambeau, flambeau.nn.functional, flambeau.special, flambeau.linalg):
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(NO_OPERATOR.format(library=self.__name__, name=name))


class Operators(types.ModuleType):
    """The libraries by name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        library = Library(name)
        setattr(self, name, library)
        return library

    def load_library(self, path):
        """Not supported: it raises OSError, upon which libraries do without their extension."""
        raise OSError(NO_LIBRARY.format(path=path))


sys.modules[__name__].__class__ = Operators
