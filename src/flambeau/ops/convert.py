"""Ops that copy elements: to another dtype or memory order, or over the elements of a tensor."""

from .._modes import modes
from .._tensor import Tensor, wrap
from ..engines import engine_of, engine_on, is_traced, on_host
from ._op import kernel_op, op
from .shape import zeros_like

# The elements in a NumPy dtype and a memory format; the engine converts the gradient back.
to_copy = kernel_op("to_copy", "copy_as", inputs="x", settings="dtype, format", kernel_layout=True)
to_copy.vjp(x=lambda g: g)


@op(node="ToCopyBackward0")
def move(k, x, *, device, origin):
    """Copies x from the device `origin` to another one; called by ``to_device``."""
    return transfer(x, device)


move.vjp(x=lambda g, origin: to_device(g, device=origin))


def to_device(x, *, device):
    """Copies a tensor or an array to another device."""
    if not isinstance(x, Tensor):
        return transfer(x, device)
    out = wrap(transfer(x._a, device), device)
    if modes.grad and x.requires_grad:
        move.spec.record((x,), (x._a,), out._a, out, {"device": device, "origin": x.device})
    return out


def transfer(array, device):
    """Copies an array to another device; the meta device needs no elements."""
    engine = engine_on(device)
    if device.type == "meta":
        return engine.create(None, array.shape, array.dtype, device)
    if is_traced(array):  # its device is determined by the program
        modes.tracer.enter_device(device)
        return engine_of(array).copy(array)
    return engine.from_host(on_host(array, "to()"), device)


@op(node="CloneBackward0", kernel_layout=True)
def clone_as(k, x, *, format):
    """A copy in a memory format."""
    return k.copy_as(x, x.dtype, format)


clone_as.vjp(x=lambda g: g)


@op(node="CopyBackwards", row_major=True)
def copy_over(k, x, src):
    """`src` in the shape and dtype of `x`: the value of `x` after ``x.copy_(src)``."""
    return k.copy_as(k.broadcast_to(src, x.shape), x.dtype)


copy_over.vjp(x=lambda g: zeros_like(g), src=lambda g: g)


@op(node="CopyBackwards")
def copy_in_layout(k, like, x):
    """A copy of `x` with the memory layout of `like`."""
    return k.copy_like(x, like)


copy_in_layout.vjp(x=lambda g: g)

zero = kernel_op("zero", "zeros_like", inputs="x")
zero.vjp(x=lambda g: zeros_like(g))


def _fill(k, x, *, value):
    """`value`, a number, in the shape of `x`."""
    return k.full_like(x, value)


def _fill_from(k, x, value):
    """The element of a zero-dimensional tensor in the shape of `x`."""
    return k.copy_as(k.broadcast_to(value, x.shape), x.dtype)


# Twice each: PyTorch numbers the nodes of in-place variants differently.
fill = op(_fill, name="fill", node="FillBackward0")
fill_in_place = op(_fill, name="fill_in_place", node="FillBackward2")
fill_from = op(_fill_from, name="fill_from", node="FillBackward1", row_major=True)
fill_from_in_place = op(_fill_from, name="fill_from_in_place", node="FillBackward3", row_major=True)
for _op in (fill, fill_in_place, fill_from, fill_from_in_place):
    _op.vjp(x=lambda g: zeros_like(g))
for _op in (fill_from, fill_from_in_place):
    _op.vjp(value=lambda g: g)
