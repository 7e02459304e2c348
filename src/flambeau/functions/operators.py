"""Python's operators on Tensor. They call the ops directly: this is the hot path of eager code."""

import numpy as np

from .._dtypes import is_inexact, python_number
from .._tensor import Tensor, wrap
from ..ops import compare
from ..ops import pointwise as ops
from ..ops._codegen import call_of
from ._attach import methods
from .elementary import power
from .pointwise import positive

_NUMBERS = (int, float, complex)
_OPERANDS = (Tensor, *_NUMBERS, np.generic)
INVERT = "~ (operator.invert) is only implemented on integer and Boolean-type tensors, got {dtype}"


def _operator(call, name, arrays=False):
    """A binary operator; NotImplemented unless the operand is a tensor or a number (or an array, with `arrays`).

    Python then tries the other operand. A NumPy array on the right converts the tensor and computes by NumPy's rules;
    one on the left defers to the tensor, so that it is a TypeError, as in PyTorch.
    """

    spec = getattr(call, "spec", None)
    inline = spec is not None and spec.is_operator

    def method(self, other):
        if inline and not isinstance(self, Tensor):
            raise TypeError(f"'{name}' of Tensor doesn't apply to a '{type(self).__name__}' object")
        kind = type(other)
        if kind is Tensor or kind is float or kind is int or isinstance(other, Tensor):
            return call(self, other)
        if isinstance(other, np.generic):
            return call(self, python_number(other))
        if isinstance(other, _NUMBERS):
            return call(self, other)
        if arrays and isinstance(other, np.ndarray) and other.dtype.kind in "biufc":
            return call(self, wrap(np.asarray(other)))  # drops a subclass
        return NotImplemented

    if inline:  # the op itself, falling back to this method
        method = call_of(spec, method)
    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    return method


def _inplace_operator(method, name):
    """An in-place operator; NotImplemented wherever the operator is."""

    def operator(self, other):
        kind = type(other)
        if kind is Tensor or kind is float or kind is int or isinstance(other, _OPERANDS):
            return method(self, other)
        return NotImplemented

    operator.__name__, operator.__qualname__ = name, f"Tensor.{name}"
    return operator


def reflect(call):
    return lambda x, y: call(y, x)


ARITHMETIC = {
    "add": ops.add, "radd": ops.add, "sub": ops.sub, "rsub": ops.rsub, "mul": ops.mul, "rmul": ops.mul,
    "truediv": ops.div,
    "floordiv": ops.floor_divide, "rfloordiv": reflect(ops.floor_divide),
    "mod": ops.remainder, "rmod": reflect(ops.remainder), "pow": power, "rpow": reflect(power),
}
LOGIC = {
    "and": compare.bitwise_and, "rand": compare.bitwise_and,
    "or": compare.bitwise_or, "ror": compare.bitwise_or,
    "xor": compare.bitwise_xor, "rxor": compare.bitwise_xor,
    "lshift": compare.bitwise_left_shift, "rlshift": reflect(compare.bitwise_left_shift),
    "rshift": compare.bitwise_right_shift, "rrshift": reflect(compare.bitwise_right_shift),
    "eq": compare.eq, "ne": compare.ne,
    "lt": compare.lt, "le": compare.le, "gt": compare.gt, "ge": compare.ge,
}
IN_PLACE = {
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "ifloordiv": "floor_divide_",
    "imod": "remainder_", "ipow": "pow_", "iand": "bitwise_and_", "ior": "bitwise_or_",
    "ixor": "bitwise_xor_", "ilshift": "bitwise_left_shift_", "irshift": "bitwise_right_shift_",
}

for _name, _call in ARITHMETIC.items():
    setattr(Tensor, f"__{_name}__", _operator(_call, f"__{_name}__"))
for _name, _call in LOGIC.items():
    setattr(Tensor, f"__{_name}__", _operator(_call, f"__{_name}__", arrays=_name == "eq"))
for _name, _method in IN_PLACE.items():
    setattr(Tensor, f"__{_name}__", _inplace_operator(getattr(Tensor, _method), f"__{_name}__"))


def _invert(self):
    if is_inexact(self._a.dtype):
        raise TypeError(INVERT.format(dtype=self.dtype))
    return compare.bitwise_not(self)


def _rtruediv(self, other):
    """``other / self``, for anything that can be multiplied by a tensor."""
    return self.reciprocal() * other


methods(__rtruediv__=_rtruediv, __rdiv__=_rtruediv, __neg__=ops.neg, __pos__=positive, __abs__=ops.abs_,
        __invert__=_invert)
