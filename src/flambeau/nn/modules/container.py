"""Containers: modules and parameters in sequences and dictionaries."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, islice

from ..._tensor import Tensor
from ..parameter import Parameter
from . import _fusion, _report
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
    """A module with the given modules as its children; ``Module`` under an old name."""

    def __init__(self, **kwargs):
        super().__init__()
        warnings.warn(CONTAINER, FutureWarning, stacklevel=2)
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What containers that number their entries from "0" share."""

    def _place(self, index):
        """The number of an entry, which may be counted from the end."""
        index = operator.index(index)
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range: the {type(self).__name__} has {n} entries")
        return index % n

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def _renumber(self, modules):
        """Holds exactly `modules`, numbered from 0."""
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
        if _fusion.is_unwatched(input):
            return _fusion.run_modules(self._modules, input)
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index):
        """The name of the entry at an index; entries of a Sequential may have names of their own."""
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

        The entries behind it move up by one number. Entries with names of their own cannot: KeyError.
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


class ModuleList(_Numbered):
    """A list of modules that are registered. It cannot be called: it does not say what to do with its modules."""

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
        raise TypeError(
            f"{who}.update should be called with an iterable of key/value pairs, but got {type(entries).__name__}"
        )
    if isinstance(entries, (Mapping, ModuleDict, ParameterDict)):
        yield from entries.items()
        return
    for i, pair in enumerate(entries):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{who} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{who} update sequence element #{i} has length {len(pair)}; 2 is required")
        yield pair


class ParameterList(Module):
    """A list of parameters that are registered. Tensors become parameters; anything else is kept as it is."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    _place = _Numbered._place

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            out = type(self)()
            out.extend(self[i] for i in range(len(self))[idx])
            return out
        return getattr(self, str(self._place(idx)))

    def __setitem__(self, idx, param):
        setattr(self, str(self._place(idx)), as_parameter(param))

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
        return "\n".join(f"  ({i}): {_entry(value, lambda t: t.dtype)}" for i, value in enumerate(self))

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
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string: its keys "
                            f"become names. Got {key!r}")
        return key

    def __getitem__(self, key):
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
        return self[key] if key in self else default  # noqa: SIM401  (it is this method)

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
        """Takes the entries of a mapping, or of an iterable of pairs. Those of a plain mapping are sorted by key."""
        pairs = pairs_of(parameters, "ParameterDict")
        ordered = isinstance(parameters, (OrderedDict, ParameterDict)) or not isinstance(parameters, Mapping)
        for key, value in pairs if ordered else sorted(pairs):
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
        return "\n".join(f"  ({key}): {_entry(value, _report.type_name)}" for key, value in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")


def as_parameter(value):
    """Tensors become parameters on their way into a container."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _entry(value, kind_of):
    """A line about an entry of a container of parameters."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    title = "Parameter" if isinstance(value, Parameter) else "Tensor"
    where = "" if value.device.type == "cpu" else f" ({value.device})"
    return f"{title} containing: [{kind_of(value)} of size {'x'.join(map(str, value.shape))}{where}]"
