"""Complex numbers: their parts, and how they are made from them."""

from __future__ import annotations

from .. import _dtypes
from .._tensor import Tensor
from ..ops import pointwise as ops
from ._args import need_tensor, type_word, write_out
from ._attach import inplace_methods, methods
from ._unary import unary

__all__ = [
    "angle", "complex", "conj", "conj_physical", "conj_physical_", "imag", "is_conj", "polar", "real",
    "resolve_conj", "resolve_neg",
]


def real(input):
    """The real parts, in the same memory; a real tensor is returned as it is."""
    need_tensor(input, "real")
    return ops.real(input) if input._a.dtype.kind == "c" else input


def imag(input):
    """The imaginary parts, in the same memory."""
    need_tensor(input, "imag")
    if input._a.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return ops.imag(input)


def conj(input):
    """The complex conjugate of each element; a real tensor is returned as it is."""
    need_tensor(input, "conj")
    return ops.conj(input) if input._a.dtype.kind == "c" else input


def conj_physical(input, *, out=None):
    """The complex conjugate of each element."""
    result = conj(input)
    return result if out is None else write_out(out, result, "conj_physical")


def resolve_conj(input):
    """The tensor itself: conjugation is never postponed here."""
    return need_tensor(input, "resolve_conj")


def resolve_neg(input):
    """The tensor itself: negation is never postponed here."""
    return need_tensor(input, "resolve_neg")


def is_conj(input):
    """Whether a conjugation is postponed: never here."""
    need_tensor(input, "is_conj")
    return False


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


methods(angle, conj, conj_physical, is_conj, resolve_conj, resolve_neg)
conj_physical_ = inplace_methods(conj_physical)["conj_physical_"]
Tensor.real = property(real, lambda self, value: real(self).copy_(value), doc=real.__doc__)
Tensor.imag = property(imag, lambda self, value: imag(self).copy_(value), doc=imag.__doc__)
