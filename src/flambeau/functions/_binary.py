"""Builds the public functions of binary pointwise ops and checks their operands."""

import numpy as np

from .._dtypes import check_int, python_number
from .._signatures import set_name
from .._tensor import Tensor
from ._out import out_variant
from ._wrong_type import wrong_type

_NUMBERS = (int, float, complex)


def number(value):
    """Converts a NumPy scalar to a Python number; returns anything else unchanged."""
    if isinstance(value, int):
        check_int(value)
    return python_number(value) if isinstance(value, np.generic) else value


def need_operand(value, name, argument, position, numbers):
    """A tensor (or, with `numbers`, a Python number); TypeError otherwise."""
    if isinstance(value, Tensor):
        return value
    if numbers:
        value = number(value)
        if isinstance(value, _NUMBERS):
            return value
    raise wrong_type(value, "Tensor or Number" if numbers else "Tensor", name, argument, position)


def operands(input, other, name, numbers=True, either=False, second="other"):
    """The checked operands of a binary function. With `either`, the first may be a number."""
    input = need_operand(input, name, "input", 1, either)
    other = need_operand(other, name, second, 2, numbers)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError(f"{name}(): one operand must be a Tensor, got two numbers: {input!r} and {other!r}")
    return input, other


def binary(call, name, doc, *, numbers=True, either=False, **rules):
    """``name(input, other, *, out=None)`` over the op `call`; `numbers`: ``other`` may be a number.

    The `rules` are those of ``out_variant``.
    """

    def function(input, other):
        if not isinstance(input, Tensor) or not isinstance(other, Tensor):
            input, other = operands(input, other, name, numbers, either)
        return call(input, other)

    return out_variant(set_name(function, name, doc, "flambeau"), **rules)


def alias(function, name):
    """The same function under another name."""

    def renamed(*args, **kwargs):
        return function(*args, **kwargs)

    renamed.__wrapped__ = function
    if hasattr(function, "method"):  # the variant without out=
        renamed.method = function.method
    renamed.__name__ = renamed.__qualname__ = name
    renamed.__doc__ = f"Alias of ``{function.__name__}``."
    renamed.__module__ = "flambeau"
    return renamed
