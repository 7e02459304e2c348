"""Ops that read and write elements by index or by mask.

Those that modify ``x`` have a setting ``into``: with it, the kernel writes into x's memory, for the in-place variants.
Their gradients do not need the elements of x, so no copy is necessary.
"""

from ._op import kernel_op, op
from .shape import reshape, zeros_like

# ---- index tensors: integers that broadcast together, or one mask


@op(row_major=True)
def index(k, x, *indices, dims):
    """x indexed at the dimensions `dims`; the new dimensions are placed as in NumPy."""
    return k.index(x, indices, dims)


index.vjp(x=lambda g, indices, dims, x_shape: unindex(g, *indices, dims=dims, shape=x_shape))


@op(node="IndexBackward0", row_major=True)
def unindex(k, g, *indices, dims, shape):
    """Zeros, with g added at the indices."""
    return k.unindex(g, indices, dims, shape)


unindex.vjp(g=lambda g, indices, dims: index(g, *indices, dims=dims))


@op
def index_put(k, x, values, *indices, dims, accumulate, into=False):
    return k.index_put(x, indices, dims, values, accumulate, into)


index_put.vjp(
    x=lambda g, indices, dims, accumulate: g if accumulate else index_put(g, 0, *indices, dims=dims, accumulate=False),
    values=lambda g, indices, dims, values_shape: of_values(g, indices, dims, values_shape),
)


def of_values(g, indices, dims, shape):
    """The gradient of the stored values; for a single element, no shape depends on a mask."""
    mask = indices[0]
    if shape or dims != (0,) or getattr(mask.dtype, "np", mask.dtype).kind != "b":
        return index(g, *indices, dims=dims)
    return masked_keep(g, reshape(mask, shape=(*mask.shape, *[1] * (len(g.shape) - len(mask.shape)))))


# ---- one index vector along an axis; a 0-dimensional x counts as one element in one dimension


def rows(x):
    return x.reshape(1) if x.ndim == 0 else x


def back(out, x):
    """A result in the shape of x, which `rows` may have changed."""
    return out if x.ndim else out.reshape(())


@op
def index_select(k, x, index, *, axis):
    return back(k.index_select(rows(x), index, axis), x)


index_select.vjp(x=lambda g, index, axis, x_shape: unselect(g, index, axis, x_shape))


def unselect(g, index, axis, shape):
    """Zeros, with g added at `index` along `axis`."""
    if not shape:
        return g
    return unindex(g, index, dims=(axis,), shape=shape)


@op(row_major=True)
def index_add(k, x, source, index, *, axis, alpha, into=False):
    return back(k.index_add(rows(x), index, rows(source), axis, alpha, into), x)


index_add.vjp(
    x=lambda g: g,
    source=lambda g, index, axis, alpha, source_shape: scale(select(g, index, axis, source_shape), alpha),
)


@op(row_major=True)
def index_copy(k, x, source, index, *, axis, into=False):
    return back(k.index_copy(rows(x), index, rows(source), axis, into), x)


index_copy.vjp(
    x=lambda g, index, axis: index_fill(g, 0, index, axis=axis),
    source=lambda g, index, axis, source_shape: select(g, index, axis, source_shape),
)


def select(g, index, axis, shape):
    """index_select, in the shape of the stored source."""
    return reshape(index_select(g, index, axis=axis), shape=shape)


def scale(g, alpha):
    return g if alpha == 1 else g * alpha


@op(node="IndexFillBackward1", scalar_node="IndexFillBackward0")
def index_fill(k, x, value, index, *, axis, into=False):
    return back(k.index_put(rows(x), (index,), (axis,), value, False, into), x)


index_fill.vjp(
    x=lambda g, index, axis: index_fill(g, 0, index, axis=axis),
    value=lambda g, index, axis: masked_keep(g, index_fill(zeros_like(g), 1, index, axis=axis) != 0),
)


# ---- the flat order of the elements

take = kernel_op("take", "take_flat", inputs="x, index", row_major=True)
take.vjp(x=lambda g, index, x_shape: untake(g, index, shape=x_shape))


@op(node="TakeBackward0")
def untake(k, g, index, *, shape):
    """Zeros, with g added at the flat `index`."""
    return k.put_flat(k.zeros(shape, g.dtype), index, g, True)


untake.vjp(g=lambda g, index: take(g, index))


@op
def put(k, x, source, index, *, accumulate, into=False):
    return k.put_flat(x, index, source, accumulate, into)


put.vjp(
    x=lambda g, index, accumulate: g if accumulate else put(g, 0, index, accumulate=False),
    source=lambda g, index, source_shape: reshape(take(g, index), shape=source_shape),
)


# ---- masks


@op(node="MaskedFillBackward1", scalar_node="MaskedFillBackward0", row_major=True)
def masked_fill(k, x, value, mask, *, into=False):
    return k.masked_fill(x, mask, value, into)


masked_fill.vjp(
    x=lambda g, mask: masked_fill(g, 0, mask),
    value=lambda g, mask: masked_keep(g, mask),
)


@op(node="WhereBackward0")
def masked_keep(k, x, mask):
    """x where the mask is set, zero elsewhere."""
    return k.where(mask, x, k.zeros((), x.dtype))


masked_keep.vjp(x=lambda g, mask: masked_keep(g, mask))

masked_select = kernel_op("masked_select", inputs="x, mask")
masked_select.vjp(x=lambda g, mask, x_shape: masked_select_pull(g, mask, shape=x_shape))


@op(node="MaskedSelectBackward0", row_major=True)
def masked_select_pull(k, g, mask, *, shape):
    """Zeros with the elements of g where the mask, broadcast with `shape`, is set."""
    return k.masked_scatter(k.zeros(shape, g.dtype), mask, g)


masked_select_pull.vjp(g=lambda g, mask, g_shape: masked_pack(g, mask, shape=g_shape))

# The elements of g where the mask is set, in order, and zeros up to `shape`.
masked_pack = kernel_op("masked_pack", inputs="g, mask", settings="shape", node="MaskedSelectBackward0")
masked_pack.vjp(g=lambda g, mask, g_shape: masked_select_pull(g, mask, shape=g_shape))


@op(row_major=True)
def masked_scatter(k, x, source, mask, *, into=False):
    return k.masked_scatter(x, mask, source, into)


masked_scatter.vjp(
    x=lambda g, mask: masked_fill(g, 0, mask),
    source=lambda g, mask, source_shape: masked_pack(g, mask, shape=source_shape),
)


# ---- positions

# The indices of the nonzero elements, one row each.
nonzero = kernel_op("nonzero", "argwhere", inputs="x")

fill_diagonal = kernel_op("fill_diagonal", "filled_diagonal", inputs="x", settings="value, wrap", row_major=True)
fill_diagonal.vjp(x=lambda g, wrap: fill_diagonal(g, value=0, wrap=wrap))
