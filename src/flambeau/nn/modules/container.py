"""Containers: modules and parameters in sequences and dictionaries."""

import warnings
from collections import OrderedDict
from collections.abc import Iterable
from itertools import chain, islice

from . import _fusion, _report
from ._entries import Keyed, Numbered, pairs_of
from ._parameter_containers import ParameterDict, ParameterList
from .module import Module

NAMED_INSERT = (
    "{name}: cannot insert at {index}, named entries would have to be renamed; the names are {names}. Build a new "
    "Sequential from an OrderedDict."
)

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


CONTAINER = (
    "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead."
)


class Container(Module):
    """Deprecated: a module with these children."""

    def __init__(self, **kwargs):
        super().__init__()
        warnings.warn(CONTAINER, FutureWarning, stacklevel=2)
        for name, module in kwargs.items():
            self.add_module(name, module)


class _NumberedModules(Numbered):
    """Common base of Sequential and ModuleList."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def _renumber(self, modules):
        """Replaces the children by `modules`, numbered from 0."""
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(modules)}

    def append(self, module):
        """Adds a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Removes and returns the module at `key` (or the modules of a slice)."""
        found = self[key]
        del self[key]
        return found


class Sequential(_NumberedModules):
    """Modules called in sequence, each with the output of the one before.

    Example::

        >>> Sequential(Linear(2, 3), ReLU())
        Sequential(
          (0): Linear(in_features=2, out_features=3, bias=True)
          (1): ReLU()
        )
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input):
        if _fusion.is_unwatched(input):
            return _fusion.run_modules(self._modules, input)
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index):
        """The name of the entry at an index; entries of a Sequential may have other names than numbers."""
        return next(islice(self._modules, self._place(index), None))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def __setitem__(self, idx, module):
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx):
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]:
            delattr(self, name)
        self._renumber(self)

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        joined = Sequential()
        joined._renumber(chain(self, other))
        return joined

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def __mul__(self, other):
        repeated = Sequential()
        repeated._renumber(list(self) * self._times(other))
        return repeated

    __rmul__ = __mul__

    def __imul__(self, other):
        return self.extend(list(self) * (self._times(other) - 1))

    def _times(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other

    def insert(self, index, module):
        """Puts a module before `index`; returns the container.

        The following entries are renumbered, which raises KeyError if their names are not numbers.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        if index < 0:
            index += n
        for i in reversed(range(index, n)):
            if str(i) not in self._modules:
                raise KeyError(NAMED_INSERT.format(name=i, index=index, names=list(self._modules)))
        moved = [self._modules[str(i)] for i in range(index, n)]
        for i, entry in enumerate([module, *moved], index):
            self.add_module(str(i), entry)
        return self

    def extend(self, sequential):
        """Adds the modules of an iterable at the end; returns the container."""
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(_NumberedModules):
    """A list of registered modules. It has no ``forward``."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[str(self._place(idx))]

    def __setitem__(self, idx, module):
        setattr(self, str(self._place(idx)), module)

    def __delitem__(self, idx):
        for place in range(len(self))[idx] if isinstance(idx, slice) else [self._place(idx)]:
            delattr(self, str(place))
        self._renumber(self)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList(chain(self, other))

    def insert(self, index, module):
        """Puts a module before `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules):
        """Adds the modules of an iterable at the end; returns the list."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        start = len(self)
        for i, module in enumerate(list(modules)):
            self.add_module(str(start + i), module)
        return self

    def __repr__(self):
        return _report.module_repr(self, _report.format_list)


_report.formats[ModuleList.__repr__] = _report.format_list


class ModuleDict(Keyed):
    """A dictionary of registered modules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Removes all entries."""
        self._modules.clear()

    def keys(self):
        """The keys."""
        return self._modules.keys()

    def items(self):
        """The (key, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds the entries of a mapping, or of an iterable of pairs."""
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module
