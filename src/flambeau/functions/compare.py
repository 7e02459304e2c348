"""Elementwise comparisons, tests, logical and bitwise functions."""

from .._dtypes import type_word
from .._signatures import set_name
from ..ops import compare as ops
from ._args import as_float, need_tensor
from ._attach import inplace_methods, methods
from ._binary import alias, binary, operands
from ._out import out_variant, same
from ._unary import on_tensors, unary

__all__ = [
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "eq", "ge", "greater", "greater_equal", "gt", "isclose", "isfinite", "isinf", "isnan", "isneginf",
    "isposinf", "isreal", "le", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "ne", "not_equal",
]

eq = binary(ops.eq, "eq", "Whether the elements of each pair are equal.", differentiable=False)
ne = binary(ops.ne, "ne", "Whether the elements of each pair differ.", differentiable=False)
lt = binary(ops.lt, "lt", "Whether the first element of each pair is smaller.", differentiable=False)
le = binary(ops.le, "le", "Whether the first element of each pair is smaller or equal.", differentiable=False)
gt = binary(ops.gt, "gt", "Whether the first element of each pair is larger.", differentiable=False)
ge = binary(ops.ge, "ge", "Whether the first element of each pair is larger or equal.", differentiable=False)
not_equal, less, greater = alias(ne, "not_equal"), alias(lt, "less"), alias(gt, "greater")
less_equal, greater_equal = alias(le, "less_equal"), alias(ge, "greater_equal")

isnan = on_tensors(ops.isnan, "isnan", "Whether each element is nan.")
isinf = on_tensors(ops.isinf, "isinf", "Whether each element is infinite.")
isfinite = on_tensors(ops.isfinite, "isfinite", "Whether each element is neither infinite nor nan.")
isreal = on_tensors(ops.isreal, "isreal", "Whether each element has no imaginary part.")


def _real_test(call, name, doc):
    def function(input):
        if need_tensor(input, name)._a.dtype.kind == "c":
            raise RuntimeError(f"{name} does not support complex inputs.")
        return call(input)

    return out_variant(set_name(function, name, doc, "flambeau"), dtype=same)


isposinf = _real_test(ops.isposinf, "isposinf", "Whether each element is positive infinity.")
isneginf = _real_test(ops.isneginf, "isneginf", "Whether each element is negative infinity.")


def tolerance(value, function, name):
    """A tolerance as a float; RuntimeError if it is negative or nan."""
    value = as_float(value, function, name)
    if not value >= 0:
        raise RuntimeError(f"{function}: {name} must be greater than or equal to zero, but got {value}")
    return value


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``|input - other| <= atol + rtol * |other|`` for each pair; equal infinities are close."""
    operands(input, other, "isclose", numbers=False)
    rtol, atol = tolerance(rtol, "isclose", "rtol"), tolerance(atol, "isclose", "atol")
    if input.dtype is not other.dtype:
        words = f"{type_word(input.dtype)} did not match {type_word(other.dtype)}"
        raise RuntimeError(f"isclose: {words}; convert one of them")
    return ops.isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


logical_not = unary(ops.logical_not, "logical_not", "True where the element is zero.", differentiable=False)
_LOGIC = {"numbers": False, "differentiable": False}
logical_and = binary(ops.logical_and, "logical_and", "True where neither element is zero.", **_LOGIC)
logical_or = binary(ops.logical_or, "logical_or", "True where not both elements are zero.", **_LOGIC)
logical_xor = binary(ops.logical_xor, "logical_xor", "True where exactly one element is zero.", **_LOGIC)

bitwise_not = unary(
    ops.bitwise_not, "bitwise_not", "Every bit turned over; for bool tensors the logical not.", dtype=same,
)
bitwise_and = binary(ops.bitwise_and, "bitwise_and", "The bits that both elements have.", either=True)
bitwise_or = binary(ops.bitwise_or, "bitwise_or", "The bits that at least one element has.", either=True)
bitwise_xor = binary(ops.bitwise_xor, "bitwise_xor", "The bits that exactly one element has.", either=True)
bitwise_left_shift = binary(
    ops.bitwise_left_shift, "bitwise_left_shift", "The bits moved up by ``other`` places.", either=True)
bitwise_right_shift = binary(
    ops.bitwise_right_shift, "bitwise_right_shift", "The bits moved down by ``other`` places.", either=True)

_IN_PLACE = (
    bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, eq, ge,
    greater, greater_equal, gt, le, less, less_equal, logical_and, logical_not, logical_or, logical_xor, lt,
    ne, not_equal,
)
methods(*_IN_PLACE, isclose, isfinite, isinf, isnan, isneginf, isposinf, isreal)
inplace_methods(*_IN_PLACE, elementwise=True)
