"""Ops that act on each element: arithmetic, comparisons, elementary functions."""

from __future__ import annotations

from ._op import kernel_op, op


@op(promote="common")
def conj(k, x):
    return k.conj(x) if x.dtype.kind == "c" else x


conj.vjp(x=lambda g: conj(g))


def cj(x):
    """The conjugate of a factor in a gradient: real arrays and Python numbers are their own."""
    dtype = getattr(x, "dtype", None)
    if dtype is None or not (dtype.is_complex if hasattr(dtype, "is_complex") else dtype.kind == "c"):
        return x
    return conj(x)


add = kernel_op("add", inputs="x, y", promote="common")
add.vjp(x=lambda g: g, y=lambda g: g)

sub = kernel_op("sub", "subtract", inputs="x, y", promote="common")
sub.vjp(x=lambda g: g, y=lambda g: -g)

mul = kernel_op("mul", "multiply", inputs="x, y", promote="common")
mul.vjp(x=lambda g, y: g * cj(y), y=lambda g, x: g * cj(x))

div = kernel_op("div", "divide", inputs="x, y", promote="float")
div.vjp(x=lambda g, y: g / cj(y), y=lambda g, y, out: -g * cj(out / y))

neg = kernel_op("neg", "negative", inputs="x", promote="common")
neg.vjp(x=lambda g: -g)

tanh = kernel_op("tanh", inputs="x", promote="float")
tanh.vjp(x=lambda g, out: g * cj(1 - out * out))
