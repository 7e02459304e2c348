"""The base class of datapipes and their functional form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..dataset import IterableDataset

__all__ = ["DataChunk", "IterDataPipe", "functional_datapipe"]

T_co = TypeVar("T_co", covariant=True)

TAKEN = "Unable to add DataPipe function name {name} as it is already taken"
NO_METHOD = "'{cls}' object has no attribute '{name}'"


class IterDataPipe(IterableDataset[T_co]):
    """An iterable dataset that other datapipes can be chained to by method calls.

    Example::

        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 2, 3]).map(str).batch(2))
        [['1', '2'], ['3']]
    """

    functions: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name):
        if name in IterDataPipe.functions:
            return functools.partial(IterDataPipe.functions[name], self)
        raise AttributeError(NO_METHOD.format(cls=type(self).__name__, name=name))

    @classmethod
    def register_function(cls, function_name, function):
        """Registers a function as a method of all datapipes."""
        if function_name in IterDataPipe.functions:
            raise Exception(TAKEN.format(name=function_name))
        IterDataPipe.functions[function_name] = function

    def __reduce_ex__(self, *args):
        return object.__reduce_ex__(self, 2)


class functional_datapipe:
    """A decorator that registers a datapipe class as a method of all datapipes, under a name."""

    def __init__(self, name, enable_df_api_tracing=False):
        self.name = name

    def __call__(self, cls):
        IterDataPipe.register_function(self.name, cls)
        return cls


class DataChunk(list):
    """A batch."""

    def as_str(self, indent=""):
        """Formats the batch."""
        return indent + "[" + ", ".join(map(str, self)) + "]"
