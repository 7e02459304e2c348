"""Complex numbers: conjugates, angles, and how they are made from their parts."""

from __future__ import annotations

from .. import _dtypes
from ..ops import pointwise as ops
from ._args import need_tensor, type_word, write_out
from ._attach import inplace_methods, methods
from ._unary import unary

__all__ = ["angle", "complex", "conj", "conj_physical", "conj_physical_", "polar"]


def conj(input):
    """The complex conjugate of each element; a real tensor is returned as it is."""
    need_tensor(input, "conj")
    return ops.conj(input) if input._a.dtype.kind == "c" else input


def conj_physical(input, *, out=None):
    """The complex conjugate of each element."""
    result = conj(input)
    return result if out is None else write_out(out, result, "conj_physical")


angle = unary(ops.angle, "angle", "The angle of each element in the complex plane, in radians.")


def parts(first, second, name, names):
    """Two real floating tensors of one dtype, which a complex tensor is made from."""
    for position, (t, argument) in enumerate(zip((first, second), names, strict=True), 1):
        need_tensor(t, name, argument, position)
    if first.dtype.category != _dtypes.FLOAT or first.dtype in (_dtypes.float16, _dtypes.bfloat16):
        words = f"{type_word(first.dtype)} and {type_word(second.dtype)}"
        raise RuntimeError(f"Expected both inputs to be Float or Double tensors but got {words}")
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {type_word(first.dtype)} but got scalar type "
            f"{type_word(second.dtype)} for second argument of {name}"
        )
    return first, second


def complex(real, imag, *, out=None):
    """The complex tensor with the given real and imaginary parts."""
    result = ops.complex_(*parts(real, imag, "complex", ("real", "imag")))
    return result if out is None else write_out(out, result, "complex", exact_dtype=True)


def polar(abs, angle, *, out=None):
    """The complex tensor with the given absolute values and angles."""
    result = ops.polar(*parts(abs, angle, "polar", ("abs", "angle")))
    return result if out is None else write_out(out, result, "polar", exact_dtype=True)


methods(angle, conj, conj_physical)
conj_physical_ = inplace_methods(conj_physical)["conj_physical_"]
