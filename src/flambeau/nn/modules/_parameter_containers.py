"""Containers of parameters: ParameterList and ParameterDict."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from ..._tensor import Tensor
from ..parameter import Parameter
from . import _report
from ._entries import Keyed, Numbered, pairs_of


class ParameterList(Numbered):
    """A list of parameters that are registered. Tensors become parameters; other values are stored unchanged."""

    __module__ = "flambeau.nn.modules.container"  # as in PyTorch, whose pickles contain the name

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

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
        return "\n".join(f"  ({i}): {describe(value, lambda t: t.dtype)}" for i, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Keyed):
    """A dictionary of parameters that are registered. Tensors become parameters; other values are stored unchanged."""

    __module__ = "flambeau.nn.modules.container"  # as in PyTorch, whose pickles contain the name

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
        """Adds the entries of a mapping, or of an iterable of pairs. Those of a plain mapping are sorted by key."""
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
        return "\n".join(f"  ({key}): {describe(value, _report.type_name)}" for key, value in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")


def as_parameter(value):
    """Converts tensors to parameters when they are added to a container."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def describe(value, kind_of):
    """The line in the repr for an entry."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    title = "Parameter" if isinstance(value, Parameter) else "Tensor"
    where = "" if value.device.type == "cpu" else f" ({value.device})"
    return f"{title} containing: [{kind_of(value)} of size {'x'.join(map(str, value.shape))}{where}]"
