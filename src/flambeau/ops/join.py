"""Ops that put several tensors into one."""

from __future__ import annotations

from ._op import op
from .shape import basic_index, part, select_index


@op(promote="common", opmath=False)
def cat(k, *xs, axis):
    return k.concatenate(xs, axis)


@cat.joint_vjp
def _(g, xs_shape, axis, needs):
    grads, start = [], 0
    for shape, needed in zip(xs_shape, needs):
        stop = start + shape[axis]
        grads.append(basic_index(g, key=part(axis, start, stop)) if needed else None)
        start = stop
    return grads


@op(promote="common", opmath=False)
def stack(k, *xs, axis):
    return k.stack(xs, axis)


@stack.joint_vjp
def _(g, axis, needs):
    lead = (slice(None),) * axis
    return [select_index(g, key=(*lead, i, ...)) if needed else None for i, needed in enumerate(needs)]


# What a quickly recorded node runs in an ordinary backward: the same gradients as above, of raw arrays.


def cat_backward(g, node):
    axis, grads, start = node.settings["axis"], [], 0
    lead = (slice(None),) * axis
    for edge, shape in zip(node.next, node.shapes):
        stop = start + shape[axis]
        grads.append(None if edge is None else g[(*lead, slice(start, stop))])
        start = stop
    return grads


def stack_backward(g, node):
    lead = (slice(None),) * node.settings["axis"]
    return [None if edge is None else g[(*lead, i, ...)] for i, edge in enumerate(node.next)]


cat.spec.backward, stack.spec.backward = cat_backward, stack_backward


@op(promote="common", opmath=False)
def block_diag(k, *xs):
    """Matrices along the diagonal of a larger one, zeros elsewhere."""
    height, width = (sum(x.shape[i] for x in xs) for i in (0, 1))
    return k.place([(x, key) for x, key in zip(xs, blocks([x.shape for x in xs]))], (height, width))


@block_diag.joint_vjp
def _(g, xs_shape, needs):
    return [basic_index(g, key=key) if needed else None for key, needed in zip(blocks(xs_shape), needs)]


def blocks(shapes):
    """The key of each block."""
    keys, row, column = [], 0, 0
    for height, width in shapes:
        keys.append((slice(row, row + height), slice(column, column + width)))
        row, column = row + height, column + width
    return keys
