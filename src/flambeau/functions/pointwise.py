"""Pointwise functions and operators."""

from __future__ import annotations

from .._tensor import Tensor
from ..ops import pointwise as ops
from ._args import need_tensor, scalar_or_tensor, write_out
from ._attach import inplace_methods, methods
from ._unary import unary

__all__ = ["add", "mul", "tanh"]

tanh = unary(ops.tanh, "tanh", "The hyperbolic tangent of each element.")


def add(input, other, *, alpha=1, out=None):
    """``input + alpha * other``, with broadcasting and type promotion."""
    need_tensor(input, "add")
    scalar_or_tensor(other, "add", "other")
    result = ops.add(input, other if alpha == 1 else other * alpha)
    return result if out is None else write_out(out, result, "add")


def mul(input, other, *, out=None):
    """The product of each pair of elements."""
    need_tensor(input, "mul")
    scalar_or_tensor(other, "mul", "other")
    result = ops.mul(input, other)
    return result if out is None else write_out(out, result, "mul")


methods(add, mul, tanh)
inplace_methods(add, mul, tanh)


def _operator(call, name):
    """A binary operator: NotImplemented for what is neither a tensor nor a number."""

    def method(self, other):
        kind = type(other)
        if kind is Tensor or kind is float or kind is int or isinstance(other, Tensor | int | float | complex):
            return call(self, other)
        return NotImplemented

    method.__name__ = name
    return method


Tensor.__add__ = _operator(ops.add, "__add__")
Tensor.__radd__ = Tensor.__add__
Tensor.__mul__ = _operator(ops.mul, "__mul__")
Tensor.__rmul__ = Tensor.__mul__
Tensor.__sub__ = _operator(ops.sub, "__sub__")
Tensor.__truediv__ = _operator(ops.div, "__truediv__")
Tensor.__neg__ = ops.neg
