"""``torch.ops``: operators by library. PyTorch's own (``aten``) are Flambeau's functions.

``torch.library`` registers operators here.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import flambeau

NO_LIBRARY = "{path}: Flambeau loads no compiled extensions of PyTorch"
NO_OPERATOR = "'_OpNamespace' '{library}' object has no attribute '{name}'"
NO_KERNEL = "{name}: this operator was defined, but has no implementation (torch.library.impl)"


class Operator:
    """An operator of a library. Calls run its kernel, and are recorded if it has a gradient."""

    def __init__(self, library, name):
        self._library, self.__name__ = library, name
        self._kernels: dict[str, Any] = {}
        self._autograd = None
        self._fake = None
        self._autocast = None
        self._is_composed = False

    def name(self):
        """``library::name``."""
        return f"{self._library}::{self.__name__}"

    @property
    def default(self):
        """The only overload."""
        return self

    def overloads(self):
        """The names of the overloads."""
        return ["default"]

    def set_composed(self, kernel):
        """Sets a kernel that is made of differentiable functions; None removes it."""
        self._kernels["default"] = kernel
        self._is_composed = True

    def kernel_for(self, args):
        """The implementation for the devices of the arguments."""
        tensors = [a for a in args if isinstance(a, flambeau.Tensor)]
        kind = tensors[0].device.type if tensors else "cpu"
        if kind == "meta" and self._fake is not None:
            return self._fake
        kernel = self._kernels.get(kind) or self._kernels.get("default")
        if kernel is None:
            raise NotImplementedError(NO_KERNEL.format(name=self.name()))
        return kernel

    def __call__(self, *args, **kwargs):
        if self._autocast is not None and flambeau.is_autocast_enabled("cpu"):
            return self._autocast(*args, **kwargs)
        if self._autograd is not None:
            return self._autograd(*args, **kwargs)
        return self.kernel_for((*args, *kwargs.values()))(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self._library}.{self.__name__}', overload='default')>"


class Library(types.ModuleType):
    """The operators of one library."""

    def __getattr__(self, name):
        if self.__name__ in ("aten", "prims") and not name.startswith("__"):
            for module in (flambeau, flambeau.nn.functional, flambeau.special, flambeau.linalg):
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(NO_OPERATOR.format(library=self.__name__, name=name), name=name, obj=self)


class Operators(types.ModuleType):
    """The libraries by their names."""

    loaded_libraries: set[str] = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        library = Library(name)
        setattr(self, name, library)
        return library

    def load_library(self, path):
        """Adds the operators of torchvision's extension, which are reimplemented here.

        For other libraries it raises OSError, which their Python packages handle.
        """
        from .vision import load_extension

        if not load_extension(path):
            raise OSError(NO_LIBRARY.format(path=path))
        self.loaded_libraries.add(str(path))


def operator(library, name):
    """The operator of a library; created if it does not exist."""
    space = getattr(sys.modules[__name__], library)
    if name not in vars(space):
        setattr(space, name, Operator(library, name))
    return vars(space)[name]


sys.modules[__name__].__class__ = Operators
