"""Import hooks that resolve ``torch`` and its submodules to Flambeau's modules."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import pathlib
import sys
import types

import flambeau

from ..torch_version import TorchVersion
from ._classes import PACKAGE, name_classes_of, name_module
from ._paths import ELSEWHERE, gathered_module

VERSION = "2.13.0+flambeau"
NO_ATTRIBUTE = "module 'torch' has no attribute {name!r}. Flambeau, which replaces PyTorch here, does not have it."
NO_TORCHVISION = (
    "No module named 'torchvision'. Its release for PyTorch 2.13 runs on Flambeau, without PyTorch: "
    "pip install --no-deps 'torchvision==0.28.*' pillow"
)
METADATA = f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\nSummary: Flambeau under PyTorch's name\n"


class Torch(types.ModuleType):
    """The module ``torch``: Flambeau's names, with PyTorch's version."""

    def __init__(self):
        super().__init__("torch", flambeau.__doc__)
        self.__dict__.update({name: value for name, value in vars(flambeau).items() if not name.startswith("__")})
        self.__dict__.pop("ops", None)  # Flambeau's op declarations, unlike PyTorch's torch.ops
        self.__version__ = TorchVersion(VERSION)
        self.__file__ = flambeau.__file__

    def __getattr__(self, name):
        if name in ELSEWHERE or name in flambeau._LAZY:
            return importlib.import_module(f"torch.{name}")
        try:
            return getattr(flambeau, name)
        except AttributeError:
            raise AttributeError(NO_ATTRIBUTE.format(name=name), name=name, obj=self) from None

    def __dir__(self):
        return sorted({*vars(self), *dir(flambeau), *(path for path in ELSEWHERE if "." not in path)})


class Finder(importlib.abc.MetaPathFinder):
    """Finds ``torch`` and its submodules, and the distribution named torch."""

    def find_spec(self, name, path=None, target=None):
        top, _, rest = name.partition(".")
        if top == PACKAGE and rest:
            return _naming_spec(name, path, target)
        if top != "torch":
            return None
        if not rest:
            return importlib.machinery.ModuleSpec(name, Loader(), origin=flambeau.__file__, is_package=True)
        source = ELSEWHERE.get(rest, f"flambeau.{rest}")
        if type(source) is str and _spec_of(source) is None:
            return None
        # Importing here would register the module under its new name before the import system looks it up.
        is_package = type(source) is str and _spec_of(source).submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(name, Loader(source), is_package=is_package)

    def find_distributions(self, context=None):
        if context is None or context.name in (None, "torch"):
            yield Distribution()


def _naming_spec(name, path, target):
    """The spec of a Flambeau module that is imported after the alias was installed."""
    spec = importlib.machinery.PathFinder.find_spec(name, path, target)
    if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
        spec.loader = NamingLoader(spec.loader.name, spec.loader.path)
    return spec


class NamingLoader(importlib.machinery.SourceFileLoader):
    """Loads a Flambeau module and gives its classes PyTorch's names."""

    def exec_module(self, module):
        super().exec_module(module)
        name_module(self.name, module)


class Absent(importlib.abc.MetaPathFinder):
    """The last finder: explains how to install torchvision if an ``import`` does not find it."""

    def find_spec(self, name, path=None, target=None):
        # importlib.util.find_spec only checks for the module, so it must not raise.
        if name == "torchvision" and sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
            raise ModuleNotFoundError(NO_TORCHVISION, name=name)


def _spec_of(name):
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:  # its parent is not a package
        return None


class Loader(importlib.abc.Loader):
    """Loads the module for a path below torch: one of Flambeau's, or one assembled from several."""

    def __init__(self, source=None):
        self.source = source
        self.own_spec = None

    def create_module(self, spec):
        if self.source is None:
            return Torch()
        if type(self.source) is not str:
            return gathered_module(spec.name, self.source)
        module = importlib.import_module(self.source)
        self.own_spec = module.__spec__
        return module

    def get_code(self, name):
        """The code object of the module, for ``python -m torch...``."""
        spec = importlib.util.find_spec(self.source or PACKAGE)
        return spec.loader.get_code(spec.name)

    def exec_module(self, module):
        if self.own_spec is not None:  # the import system has replaced it with torch's
            module.__spec__ = self.own_spec
            name_classes_of(module)
        elif self.source is None:
            for path in ELSEWHERE:
                if path.startswith(("autograd.", "nn.")):  # which programs read without importing them
                    importlib.import_module(f"torch.{path}")


class Distribution(importlib.metadata.Distribution):
    """The metadata for ``importlib.metadata.version("torch")``."""

    def read_text(self, filename):
        return METADATA if filename == "METADATA" else None

    def locate_file(self, path):
        return pathlib.Path(flambeau.__file__).parent / path


def is_installed():
    """Whether ``import torch`` resolves to Flambeau."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)
