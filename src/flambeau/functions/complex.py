"""Complex numbers: their parts, conversion and construction."""

import numpy as np

from .. import _dtypes
from .._dtypes import type_word
from ..ops import pointwise as ops
from ..ops import shape as views
from ._args import need_tensor
from ._attach import inplace_methods, methods
from ._out import out_variant, same
from ._unary import unary

__all__ = [
    "angle", "complex", "conj", "conj_physical", "conj_physical_", "imag", "polar", "real", "view_as_complex",
    "view_as_real",
]


HALVES = (
    "Expected both inputs to be Half, Float or Double tensors but got {first} and {second}. (There is no complex dtype "
    "for Half here.)"
)


def view_as_real(input):
    """A view of complex numbers as reals, with real and imaginary parts in a last dimension of size two."""
    need_tensor(input, "view_as_real")
    if input._a.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return views.view_as_real(input)


def view_as_complex(input):
    """A view of the pairs along the last dimension as complex numbers."""
    need_tensor(input, "view_as_complex")
    a = input._a
    if a.dtype not in (np.float32, np.float64):
        raise RuntimeError(
            f"view_as_complex is only supported for float and double tensors, but got {type_word(input.dtype)}"
        )
    if a.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if a.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides = input.stride()
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any([s % 2 for n, s in zip(a.shape, strides[:-1]) if n != 1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return views.view_as_complex(input)


def component(input, index):
    """A view of the real (0) or imaginary (1) parts of complex numbers."""
    return views.basic_index(views.view_as_real(input), key=(..., index), node="SelectBackward0")


def real(input):
    """A view of the real parts; a real tensor is returned as it is."""
    need_tensor(input, "real")
    return component(input, 0) if input._a.dtype.kind == "c" else input


def imag(input):
    """A view of the imaginary parts."""
    need_tensor(input, "imag")
    if input._a.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return component(input, 1)


def assign_part(part):
    """The setter of ``x.real`` or ``x.imag``."""

    def setter(self, value):
        part(self).copy_(value)

    return setter


def conj(input):
    """The complex conjugate of each element; real tensors are returned unchanged."""
    need_tensor(input, "conj")
    return ops.conj(input) if input._a.dtype.kind == "c" else input


@out_variant(dtype=same)
def conj_physical(input):
    """The complex conjugate of each element."""
    return conj(input)


angle = unary(ops.angle, "angle", "The angle of each element in the complex plane, in radians.")


def parts(first, second, name, names):
    """Checks the two parts of a new complex tensor: real floating tensors of one dtype."""
    for position, (t, argument) in enumerate(zip((first, second), names, strict=True), 1):
        need_tensor(t, name, argument, position)
    if any(t.dtype not in (_dtypes.float32, _dtypes.float64) for t in (first, second)):
        raise RuntimeError(HALVES.format(first=type_word(first.dtype), second=type_word(second.dtype)))
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {type_word(first.dtype)} but got scalar type "
            f"{type_word(second.dtype)} for second argument of {name}"
        )
    return first, second


@out_variant(dtype=same)
def complex(real, imag):
    """The complex tensor with these real and imaginary parts."""
    return ops.complex_(*parts(real, imag, "complex", ("real", "imag")))


@out_variant(dtype=same)
def polar(abs, angle):
    """The complex tensor with these absolute values and angles."""
    return ops.polar(*parts(abs, angle, "polar", ("abs", "angle")))


methods(angle, conj, conj_physical, real=property(real, assign_part(real)), imag=property(imag, assign_part(imag)))
conj_physical_ = inplace_methods(conj_physical, elementwise=True)["conj_physical_"]
