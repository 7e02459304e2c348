"""Python's operators on Tensor. They come straight to the ops: this is the hot path of eager code."""

from __future__ import annotations

import numpy as np

from .._tensor import Tensor, wrap
from ..ops import elementary, pointwise as ops
from .elementary import power
from .pointwise import positive


def _operator(call, name):
    """A binary operator: NotImplemented for what is neither a tensor nor a number."""

    def method(self, other):
        kind = type(other)
        if kind is Tensor or kind is float or kind is int or isinstance(other, Tensor | int | float | complex):
            return call(self, other)
        if isinstance(other, np.generic):
            return call(self, other.item())
        if isinstance(other, np.ndarray):
            return call(self, wrap(other))
        return NotImplemented

    method.__name__ = name
    return method


def reflected(call):
    return lambda x, y: call(y, x)


BINARY = {
    "add": ops.add, "radd": ops.add, "sub": ops.sub, "rsub": ops.rsub, "mul": ops.mul, "rmul": ops.mul,
    "truediv": ops.div, "rtruediv": lambda x, y: elementary.reciprocal(x) * y,
    "floordiv": ops.floor_divide, "rfloordiv": reflected(ops.floor_divide),
    "mod": ops.remainder, "rmod": reflected(ops.remainder), "pow": power, "rpow": reflected(power),
    "and": ops.bitwise_and, "rand": ops.bitwise_and, "or": ops.bitwise_or, "ror": ops.bitwise_or,
    "xor": ops.bitwise_xor, "rxor": ops.bitwise_xor,
    "lshift": ops.bitwise_left_shift, "rlshift": reflected(ops.bitwise_left_shift),
    "rshift": ops.bitwise_right_shift, "rrshift": reflected(ops.bitwise_right_shift),
    "eq": ops.eq, "ne": ops.ne, "lt": ops.lt, "le": ops.le, "gt": ops.gt, "ge": ops.ge,
}
IN_PLACE = {
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "ifloordiv": "floor_divide_", "imod": "remainder_",
    "ipow": "pow_", "iand": "bitwise_and_", "ior": "bitwise_or_", "ixor": "bitwise_xor_", "ilshift": "bitwise_left_shift_",
    "irshift": "bitwise_right_shift_",
}

for _name, _call in BINARY.items():
    setattr(Tensor, f"__{_name}__", _operator(_call, f"__{_name}__"))
for _name, _method in IN_PLACE.items():
    setattr(Tensor, f"__{_name}__", getattr(Tensor, _method))
Tensor.__rdiv__ = Tensor.__rtruediv__
Tensor.__neg__ = ops.neg
Tensor.__pos__ = positive
Tensor.__abs__ = ops.abs_
Tensor.__invert__ = ops.bitwise_not
