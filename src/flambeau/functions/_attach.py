"""Adds functions to Tensor as methods and in-place methods."""

from .._tensor import Tensor
from ._inplace import inplace
from ._wrong_type import method_of

NO_VALUES = '{name}() missing 1 required positional arguments: "{argument}"'


def methods(*functions, **renamed):
    """Makes each function a method under its own name (or the keyword's).

    A function may have a separate ``method``, which is faster because it takes no ``out=``. Function and method are
    distinct objects, as in PyTorch: ``__torch_function__`` receives the one that was called.
    """
    for function in functions:
        setattr(Tensor, function.__name__, method_of(getattr(function, "method", function), function.__name__))
    for name, member in renamed.items():
        setattr(Tensor, name, member if isinstance(member, property) else method_of(member, name))


def spread(argument):
    """Decorator of a method ``f(self, values)`` that may be called as ``f(2, 3)``, ``f((2, 3))`` or by keyword."""

    def decorate(function):
        def method(self, *values, **named):
            if named:
                if values or argument not in named:
                    raise TypeError(f"{method.__name__}() got an unexpected keyword argument {next(iter(named))!r}")
                values = (named.pop(argument),)
            elif not values:
                raise TypeError(NO_VALUES.format(name=method.__name__, argument=argument))
            return function(self, values, **named)

        method.__name__ = function.__name__.removesuffix("_method")
        method.__qualname__ = f"Tensor.{method.__name__}"
        method.__doc__ = function.__doc__
        return method

    return decorate


def keyword_value(named, name, argument):
    """The value of the one keyword argument that a method accepts instead of its positional ones."""
    if argument not in named:
        raise TypeError(NO_VALUES.format(name=name, argument=argument))
    return named[argument]


def inplace_methods(*functions, elementwise=False, **renamed):
    """Adds an in-place method for each function: ``add`` becomes ``Tensor.add_``. Returns them by name."""
    by_name = {}
    for name, function in {**{f.__name__: f for f in functions}, **renamed}.items():
        by_name[name + "_"] = inplace(function, name + "_", elementwise)
        setattr(Tensor, name + "_", by_name[name + "_"])
    return by_name
