"""Ops that rearrange elements: flips, repetitions, triangles, padding, and writes into a copy."""

import numpy as np

from ..engines._views import replay
from ._op import kernel_op, op
from .reduce import sum_
from .shape import embed_diagonal, expand, put, reshape, zeros_like


@op
def flip(k, x, *, axes):
    return k.copy(k.flip(x, axes))


flip.vjp(x=lambda g, axes: flip(g, axes=axes))

roll = kernel_op("roll", inputs="x", settings="shifts, axes", row_major=True)
roll.vjp(
    x=lambda g, shifts, axes:
        roll(g, shifts=tuple(-s for s in shifts) if isinstance(shifts, tuple) else -shifts, axes=axes)
)


@op
def rot90(k, x, *, times, axes):
    return k.copy(k.rot90(x, times, axes))


rot90.vjp(x=lambda g, times, axes: rot90(g, times=-times, axes=axes))

# x repeated `counts` times along each dimension; counts may be longer than x's shape.
repeat = kernel_op("repeat", "tile", inputs="x", settings="counts", row_major=True)


@op(name="sum_repeats", opmath=True, row_major=True)
def sum_repeats(k, g, *, counts, shape):
    """Sums over the repetitions."""
    shape = (1,) * (len(counts) - len(shape)) + shape
    pairs = [n for pair in zip(counts, shape) for n in pair]
    return k.sum(k.reshape(g, pairs), axis=tuple(range(0, len(pairs), 2)))


repeat.vjp(x=lambda g, counts, x_shape: reshape(sum_repeats(g, counts=counts, shape=x_shape), shape=x_shape))
sum_repeats.vjp(g=lambda g, counts: repeat(g, counts=counts))

# Repeats each slice along `axis` `count` times.
repeat_interleave = kernel_op("repeat_interleave", "repeat", inputs="x", settings="count, axis", node="ViewBackward0")
repeat_interleave.vjp(
    x=lambda g, x_shape, count, axis:
        sum_(reshape(g, shape=(*x_shape[: axis + 1], count, *x_shape[axis + 1:])), axis=axis + 1, keepdims=False)
)

tril = kernel_op("tril", inputs="x", settings="diagonal", row_major=True)
tril.vjp(x=lambda g, diagonal: tril(g, diagonal=diagonal))

triu = kernel_op("triu", inputs="x", settings="diagonal", row_major=True)
triu.vjp(x=lambda g, diagonal: triu(g, diagonal=diagonal))


@op(opmath=True, refuses="b")
def trace(k, x):
    return k.trace(x, dtype=None if x.dtype.kind in "fc" else np.int64)


trace.vjp(
    x=lambda g, x_shape: embed_diagonal(expand(g, shape=(min(x_shape),)), shape=x_shape, offset=0, axis1=0, axis2=1)
)


# ---- a copy with one of its views replaced


def writing(name, **traits):
    """Declares ``name(x, src, chain=...)``: x with `src` in place of the view by `chain`."""

    @op(name=name, row_major=True, **traits)
    def scatter(k, x, src, *, chain):
        return put(k, x, chain, src)

    scatter.vjp(
        x=lambda g, chain: scatter(g, zeros_like(replay(g, chain)), chain=chain),
        src=lambda g, chain: replay(g, chain),
    )
    return scatter


select_scatter = writing("select_scatter")
slice_scatter = writing("slice_scatter")
diagonal_scatter = writing("diagonal_scatter")
as_strided_scatter = writing("as_strided_scatter")


# ---- padding: (before, after) for each dimension; negative amounts crop


@op(node="ConstantPadNdBackward0")
def constant_pad(k, x, *, pads, value):
    inner = x[tuple([slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pads, x.shape)])]
    return k.pad_constant(inner, tuple([(max(a, 0), max(b, 0)) for a, b in pads]), value)


constant_pad.vjp(x=lambda g, pads: constant_pad(g, pads=tuple([(-a, -b) for a, b in pads]), value=0))


PADDINGS = {"reflect": "ReflectionPad{}D", "edge": "ReplicationPad{}D", "wrap": "CircularPad{}D"}


def pad_node(mode, dims):
    return "CopySlices" if mode == "wrap" else PADDINGS[mode].format(dims) + "Backward0"


@op(node=pad_node)
def pad_edges(k, x, *, pads, mode, dims):
    """x padded in its last `dims` dimensions with its own elements, according to `mode`."""
    return k.pad_edges(x, pads, mode)


@op(node=lambda mode, dims: PADDINGS[mode].format(dims) + "BackwardBackward0", opmath=True, row_major=True)
def fold_edges(k, g, *, pads, mode, dims):
    return k.fold_edges(g, pads, mode)


pad_edges.vjp(x=lambda g, pads, mode, dims: fold_edges(g, pads=pads, mode=mode, dims=dims))
fold_edges.vjp(g=lambda g, pads, mode, dims: pad_edges(g, pads=pads, mode=mode, dims=dims))
