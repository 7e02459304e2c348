"""Ops that join tensors, and views that split one."""

from ._op import op
from .shape import basic_index


@op(promote="common", opmath=False)
def cat(k, *xs, axis):
    return k.concatenate(xs, axis)


@cat.joint_vjp
def _(g, xs_shape, axis, needs):
    grads, lead, start = [], (slice(None),) * axis, 0
    for shape, needed in zip(xs_shape, needs):
        stop = start + shape[axis]
        grads.append(g[(*lead, slice(start, stop))] if needed else None)
        start = stop
    return grads


@op(promote="common", opmath=False, row_major=True)
def stack(k, *xs, axis):
    return k.stack(xs, axis)


@stack.joint_vjp
def _(g, axis, needs):
    lead = (slice(None),) * axis
    return [g[(*lead, i, ...)] if needed else None for i, needed in enumerate(needs)]


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


# ---- splits


def _splitting(name):
    """Splits along an axis into views."""

    @op(name=name, view=True)
    def splitting(k, x, *, sizes, axis):
        pieces, lead, start = [], (slice(None),) * axis, 0
        for n in sizes:
            pieces.append(x[(*lead, slice(start, start + n))])
            start += n
        return tuple(pieces)

    splitting.vjp(x=lambda g, axis: cat(*all_pieces(g), axis=axis))
    return splitting


split = _splitting("split")
split_with_sizes = _splitting("split_with_sizes")


def all_pieces(g):
    """The gradients of all outputs as a tuple; the tape passes that of a single one as is."""
    return g if type(g) is list else [g]


@op(view=True)
def unbind(k, x, *, axis):
    lead = (slice(None),) * axis
    return tuple([x[(*lead, i, ...)] for i in range(x.shape[axis])])


unbind.vjp(x=lambda g, axis: stack(*all_pieces(g), axis=axis))
