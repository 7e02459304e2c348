"""Containers: modules and parameters in sequences and dictionaries."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, islice

from ..._tensor import Tensor
from ..parameter import Parameter
from . import _report
from .module import Module


class _Numbered(Module):
    """What containers that number their entries from "0" share."""

    def _place(self, index):
        """The key of an index, counted from the end if negative."""
        index = operator.index(index)
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range" if type(self) is not Sequential else f"index {index} is out of range")
        return str(index + n if index < 0 else index)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def _renumber(self, modules):
        """Holds exactly `modules`, numbered from 0."""
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(modules)}


class Sequential(_Numbered):
    """Modules in a row: each gets what the one before it returned.

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
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index):
        """The name of the entry at an index; entries of a Sequential may have names of their own."""
        return next(islice(self._modules, int(self._place(index)), None))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __setitem__(self, index, module):
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index):
        if isinstance(index, slice):
            for name in list(self._modules)[index]:
                delattr(self, name)
        else:
            delattr(self, self._name_at(index))
        self._renumber(self._modules.values())

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

    def append(self, module):
        """Adds a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Puts a module before `index`; returns the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential):
        """Adds the modules of an iterable at the end; returns the container."""
        for module in list(sequential):
            self.append(module)
        return self

    def pop(self, key):
        """Removes and returns the module at `key`."""
        module = self[key]
        del self[key]
        return module


class ModuleList(_Numbered):
    """A list of modules that are registered. It cannot be called: it does not say what to do with its modules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._place(idx)]

    def __setitem__(self, idx, module):
        setattr(self, self._place(idx), module)

    def __delitem__(self, idx):
        if isinstance(idx, slice):
            for place in range(len(self))[idx]:
                delattr(self, str(place))
        else:
            delattr(self, self._place(idx))
        self._renumber(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return type(self)(chain(self, other)) if type(self) is ModuleList else ModuleList(chain(self, other))

    def insert(self, index, module):
        """Puts a module before `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def append(self, module):
        """Adds a module at the end; returns the list."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Removes and returns the module at `key` (or the modules of a slice)."""
        found = self[key]
        del self[key]
        return found

    def extend(self, modules):
        """Adds the modules of an iterable at the end; returns the list."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        start = len(self)
        for i, module in enumerate(list(modules)):
            self.add_module(str(start + i), module)
        return self

    def __repr__(self):
        """Equal neighbours are shown once: ``(0-3): 4 x Linear(...)``."""
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        runs = [[0, 0]]
        for i in range(1, len(texts)):
            if texts[i] == texts[runs[-1][0]]:
                runs[-1][1] = i
            else:
                runs.append([i, i])
        lines = []
        for first, last in runs:
            label = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append("\n  " + _report._indented(label + texts[first]))
        return f"{self._get_name()}({''.join(lines)}\n)"


class ModuleDict(Module):
    """A dictionary of modules that are registered."""

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

    def pop(self, key):
        """Removes and returns the module under `key`."""
        module = self[key]
        del self[key]
        return module

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
        """Takes the entries of a mapping, or of an iterable of pairs."""
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module


def pairs_of(entries, who):
    """The (key, value) pairs of a mapping or of an iterable of pairs; PyTorch's errors for anything else."""
    if not isinstance(entries, Iterable):
        raise TypeError(f"{who}.update should be called with an iterable of key/value pairs, but got {type(entries).__name__}")
    if isinstance(entries, Mapping | ModuleDict | ParameterDict):
        return list(entries.items())
    pairs = []
    for i, pair in enumerate(entries):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{who} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{who} update sequence element #{i} has length {len(pair)}; 2 is required")
        pairs.append(pair)
    return pairs


class ParameterList(Module):
    """A list of parameters that are registered. Tensors become parameters; anything else is kept as it is."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _place(self, idx):
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx + len(self) if idx < 0 else idx)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            out = type(self)()
            out.extend(self[i] for i in range(len(self))[idx])
            return out
        return getattr(self, self._place(idx))

    def __setitem__(self, idx, param):
        setattr(self, self._place(idx), as_parameter(param))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end; returns the list."""
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values):
        """Adds the values of an iterable at the end; returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(f"({i}): {_entry(value, 'Parameter containing: ')}" for i, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters that are registered. Tensors become parameters; anything else is kept as it is."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _attribute(key):
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}'). Open an issue on github if you need non-string keys.".split(" Open")[0])
        return key

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, self._attribute(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, self._attribute(key), as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """A new ParameterDict with the same entries."""
        return type(self)(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key, default=None):
        """The value under `key`, set to `default` first if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self):
        """Removes all entries."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Removes and returns the value under `key`."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Removes and returns the last entry."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value under `key`, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with the given keys, all with the same value."""
        return type(self)((key, default) for key in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """The (key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Takes the entries of a mapping, or of an iterable of pairs."""
        for key, value in pairs_of(parameters, "ParameterDict"):
            self[key] = value

    def __or__(self, other):
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other):
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return "\n".join(f"({key}): {_entry(value, 'Parameter containing: ')}" for key, value in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")


def as_parameter(value):
    """Tensors become parameters on their way into a container."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _entry(value, title):
    if isinstance(value, Tensor):
        where = "" if value.device.type == "cpu" else f" ({value.device})"
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        return f"{kind} containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}{where}]"
    return f"Object of type: {type(value).__name__}"
