"""Batching rules of views, copies and moves outside the classes."""

from ..._dtypes import int64
from ..._tensor import wrap
from ...engines._views import replay
from ...ops import reduce, shape
from ...ops.sort import median_dim, nanmedian_dim
from ..vmap import Batched, loop, with_batch_dim
from .classes import align, along, spread


def whole_sum(op, operands, settings, size):
    (x,) = operands
    return total(x.value, tuple(range(1, x.ndim + 1)))


def total(x, axis):
    """The sum, of integers as int64."""
    return reduce.sum_(x, axis=axis, keepdims=False, dtype=int64.np if x._a.dtype.kind in "biu" else None)


def expand(op, operands, settings, size):
    (x,) = operands
    return op.function(align(x, len(settings["shape"])), shape=(size, *settings["shape"]))


def permute(op, operands, settings, size):
    (x,) = operands
    return op.function(x.value, axes=(0, *[a % len(x.shape) + 1 for a in settings["axes"]]))


def squeeze(op, operands, settings, size):
    (x,) = operands
    axis = settings["axis"]
    if axis is None:
        axis = tuple([i for i, n in enumerate(x.shape) if n == 1])
    axes = (axis,) if isinstance(axis, int) else axis
    rank = len(x.shape)
    return op.function(x.value, **settings | {"axis": tuple([a % rank + 1 for a in axes if rank])})


def median(op, operands, settings, size):
    """The median of all elements: of the flattened sample."""
    (x,) = operands
    flat = shape.reshape(x.value, shape=(size, x.size))
    return {"median": median_dim, "nanmedian": nanmedian_dim}[op.name](flat, axis=1, keepdims=False)[0]


def t(op, operands, settings, size):
    (x,) = operands
    return shape.transpose(x.value, axis0=1, axis1=2) if x.ndim == 2 else shape.alias(x.value)


def trace(op, operands, settings, size):
    (x,) = operands
    return total(shape.diagonal(x.value, offset=0, axis1=1, axis2=2), (1,))


def roll(op, operands, settings, size):
    (x,) = operands
    if settings["axes"] is not None:
        return along(op, operands, settings, size)
    flat = shape.reshape(x.value, shape=(size, x.size))
    return shape.reshape(op.function(flat, shifts=(settings["shifts"],), axes=(1,)), shape=(size, *x.shape))


def repeat(op, operands, settings, size):
    (x,) = operands
    counts = settings["counts"]
    return op.function(align(x, len(counts)), counts=(1, *counts))


def sum_repeats(op, operands, settings, size):
    (g,) = operands
    counts, own = settings["counts"], settings["shape"]
    padded = (1,) * (len(counts) - len(own)) + tuple(own)
    return op.function(g.value, counts=(1, *counts), shape=(size, *padded))


def copy(op, operands, settings, size):
    """Copies to a memory format, which is not kept for the samples."""
    (x,) = operands
    if "dtype" in settings:
        return shape.cast(x.value, dtype=settings["dtype"]) if x.dtype != settings["dtype"] else shape.clone(x.value)
    return shape.clone(x.value)


def copy_over(op, operands, settings, size):
    """Ops that put a value into the shape of x."""
    x, value = operands
    return op.function(spread(x, size), align(value, len(x.shape)))


def copy_in_layout(op, operands, settings, size):
    _, x = operands
    return shape.clone(with_batch_dim(x, size))


def write_slices(op, operands, settings, size):
    """x with a view of it replaced by a value: writes to the view of a copy."""
    x, value = operands
    if any([step.spec.copies for step, _, _ in settings["chain"]]):
        return loop(op, operands, settings, size)
    out = wrap(Batched(x.level, shape.clone(with_batch_dim(x, size))))
    into = replay(out, settings["chain"])._a
    into.level.write(into, value)
    return out._a.value


SHAPE = {
    "whole_sum": whole_sum, "expand": expand, "permute": permute, "squeeze": squeeze, "t": t, "trace": trace,
    "median": median, "nanmedian": median, "roll": roll, "repeat": repeat, "sum_repeats": sum_repeats,
    "to_copy": copy, "clone_as": copy, "copy_in_layout": copy_in_layout,
    "copy_over": copy_over, "fill_from": copy_over, "fill_from_in_place": copy_over,
    "select_scatter": write_slices, "slice_scatter": write_slices, "diagonal_scatter": write_slices,
    "as_strided_scatter": write_slices, "copy_slices": write_slices,
}
