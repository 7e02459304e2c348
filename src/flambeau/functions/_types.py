"""Type checks of non-tensor arguments, which reject what PyTorch's argument parser rejects."""

import functools
import inspect

import numpy as np

from .._tensor import Tensor
from ._wrong_type import wrong_type


def typed(**types):
    """Decorator: the named arguments must have these types, as in ``typed(upper=bool, k=int)``.

    None is allowed if it is the default. A bool is not accepted as an int, but as a float, like ints. NumPy numbers and
    0-dim tensors that do not require grad are converted to Python numbers.
    """

    def decorate(function):
        parameters = inspect.signature(function).parameters
        places = {name: place for place, name in enumerate(parameters)}
        wanted = [(places[name], name, kind, parameters[name].default is None) for name, kind in types.items()]
        own_name = function.__name__.removesuffix("_method")

        @functools.wraps(function)
        def call(*args, **kwargs):
            for place, name, kind, optional in wanted:
                value = args[place] if place < len(args) else kwargs.get(name, call)
                if type(value) is kind or value is call or (optional and value is None):
                    continue
                value = read(value, kind, own_name, name, place + 1)
                if place < len(args):
                    args = (*args[:place], value, *args[place + 1:])
                else:
                    kwargs[name] = value
            return function(*args, **kwargs)

        return call

    return decorate


def read(value, kind, name, argument, position):
    """Converts an argument to bool, int, float or str; raises PyTorch's TypeError if it cannot."""
    is_number = isinstance(value, Tensor) and not value._a.ndim and not value.requires_grad
    if isinstance(value, np.generic) or (is_number and kind in (int, float)):
        value = value.item()
    if not isinstance(value, int | float if kind is float else kind) or (kind is int and isinstance(value, bool)):
        raise wrong_type(value, "Number" if kind is float else kind.__name__, name, argument.rstrip("_"), position)
    return int(value) if kind is float and isinstance(value, bool) else value


def number_in(value, name, argument, position):
    """Like `read`, for a number."""
    return value if type(value) is float else read(value, float, name, argument, position)
