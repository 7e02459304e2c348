"""Batching rules of indexing.

If indices are batched, or not adjacent, the batch dimension is indexed too, by the sample number. The result of a
read then has the batch dimension first, followed by those of the indices and the rest.
"""

import math

import numpy as np

from ..._tensor import wrap
from ...ops import embedding as rows
from ...ops import index as ops
from ...ops.pointwise import add, where
from ...ops.shape import cast, expand, permute, reshape
from ..vmap import Batched, loop, with_batch_dim
from .classes import align, aligned, rank_of, spread

DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {name}: it would "
    "give each sample a shape of its own. Use where() or a mask that is multiplied in."
)
DIFFERENT = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each "
    "batch this would return a differently shaped Tensor. Use where(), or masked_fill(), which keep the shape."
)
MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask. Use where(), or masked_fill(), which keep the shape."
)


def refuse(op, operands, settings, size):
    raise RuntimeError(DIFFERENT if op.name == "masked_select" else DYNAMIC.format(name=op.name))


def masked_select(op, operands, settings, size):
    """A mask that all samples share selects equally many elements of each."""
    x, mask = operands
    if mask.batched:
        refuse(op, operands, settings, size)
    shape = np.broadcast_shapes(x.shape, mask.shape)
    count = math.prod(shape)
    flat = reshape(expand(align(x, len(shape)), shape=(size, *shape)), shape=(size, count))
    chosen = ops.nonzero(reshape(expand(mask.value, shape=shape), shape=(count,)))
    return ops.index_select(flat, chosen[:, 0], axis=1)


# ---- index tensors


class Places:
    """Index tensors extended by an index of the batch dimension."""

    def __init__(self, indices, dims, size):
        if any([i.dtype.kind == "b" and i.batched for i in indices]):
            raise RuntimeError(MASK)
        shared, dims = whole_numbers(indices, dims)
        self.dims = (0, *[d + 1 for d in dims])
        self.rank = rank_of(shared)
        number = wrap(np.arange(size).reshape(size, *[1] * self.rank))
        self.indices = (number, *[align(i, self.rank) for i in shared])
        adjacent = dims == tuple(range(dims[0], dims[0] + len(dims)))
        self.first = dims[0] if adjacent else 0  # the position of the index dimensions in a sample

    def order(self, ndim):
        """The permutation from a read result to the order of dimensions in a sample."""
        read = range(1, 1 + self.rank)
        rest = range(1 + self.rank, ndim)
        return 0, *rest[:self.first], *read, *rest[self.first:]

    def from_samples(self, t):
        """Permutes values to be written from the order in a sample to that of a read."""
        order = self.order(t._a.ndim)
        inverse = [order.index(i) for i in range(len(order))]
        return permute(t, axes=tuple(inverse))


def whole_numbers(indices, dims):
    """Indices with masks, which are the same in all samples, converted to integers."""
    found, places = [], []
    for i, d in zip(indices, dims):
        if i.dtype.kind == "b":
            found += [Batched(i.level, wrap(a), False) for a in np.nonzero(i.level.elements(i, "a mask"))]
            places += range(d, d + len(i.shape))
        else:
            found.append(i)
            places.append(d)
    return found, tuple(places)


def index(op, operands, settings, size):
    x, *indices = operands
    dims = settings["dims"]
    if x.batched and len(indices) == 1 and not indices[0].batched and indices[0].dtype.kind != "b":
        return ops.index(x.value, indices[0].value, dims=(dims[0] + 1,))
    places = Places(indices, dims, size)
    read = ops.index(with_batch_dim(x, size), *places.indices, dims=places.dims)
    return permute(read, axes=places.order(read._a.ndim)) if places.first else read


def unindex(op, operands, settings, size):
    g, *indices = operands
    places = Places(indices, settings["dims"], size)
    g = places.from_samples(with_batch_dim(g, size))
    return ops.unindex(g, *places.indices, dims=places.dims, shape=(size, *settings["shape"]))


def index_put(op, operands, settings, size):
    x, values, *indices = operands
    places = Places(indices, settings["dims"], size)
    x = with_batch_dim(x, size)
    if isinstance(values, Batched):
        read = np.broadcast_shapes(*[i._a.shape for i in places.indices])[1:]
        rest = [n for d, n in enumerate(x._a.shape) if d not in places.dims]
        shape = (size, *rest[:places.first], *read, *rest[places.first:])
        values = places.from_samples(expand(align(values, len(shape) - 1), shape=shape))
    return op.function(x, values, *places.indices, dims=places.dims, accumulate=settings["accumulate"])


def masked_fill(op, operands, settings, size):
    x, value, mask = operands
    if isinstance(value, Batched) and value.batched:
        value = Batched(value.level, cast(value.value, dtype=x.dtype))
        return aligned(where.spec, (mask, value, x), {}, size)
    return aligned(op, (Batched(x.level, with_batch_dim(x, size)), value, mask), {}, size)


# ---- one index vector along an axis


def index_select(op, operands, settings, size):
    x, i = operands
    axis = settings["axis"]
    if not x.shape:
        return x.value if x.batched else with_batch_dim(x, size)
    if not i.batched:
        return ops.index_select(x.value, i.value, axis=axis + 1)
    flat = Batched(i.level, reshape(i.value, shape=(size, i.size)))
    return index(op, (x, flat), {"dims": (axis,)}, size)


def change_along(op, operands, settings, size):
    """``index_add``, ``index_copy``, ``index_fill``: unchanged if all samples share the index."""
    x, source, i = operands
    if i.batched or not x.shape:
        return loop(op, operands, settings, size)
    source = spread(source, size) if op.name != "index_fill" else source
    if isinstance(source, Batched):  # for index_fill, a value
        if source.batched:
            return loop(op, operands, settings, size)
        source = source.value
    return op.function(with_batch_dim(x, size), source, i.value, **settings | {"axis": settings["axis"] + 1})


# ---- rows of a table


def embedding(op, operands, settings, size):
    weight, i = operands
    if not weight.batched:
        return op.function(weight.value, i.value, **settings)
    if settings["padding"] is not None or settings["by_frequency"]:
        return loop(op, operands, settings, size)
    count = weight.shape[0]
    table = reshape(weight.value, shape=(size * count, *weight.shape[1:]))
    return op.function(table, of_sample(i, count, size), **settings)


def of_sample(i, count, size):
    """Offsets indices into the concatenated tables of all samples, each with `count` rows."""
    start = np.arange(size).reshape(size, *[1] * len(i.shape)) * count
    return add(with_batch_dim(i, size), wrap(start))


def unembedding(op, operands, settings, size):
    g, i = operands
    count, *rest = settings["shape"]
    total = rows.unembedding(with_batch_dim(g, size), of_sample(i, count, size), shape=(size * count, *rest))
    return reshape(total, shape=(size, count, *rest))


def row_factors(op, operands, settings, size):
    if settings["by_frequency"]:
        return loop(op, operands, settings, size)
    (i,) = operands
    return op.function(i.value, **settings)


INDEX = {
    "index": index, "unindex": unindex, "index_put": index_put, "index_select": index_select,
    "index_add": change_along, "index_copy": change_along, "index_fill": change_along,
    "embedding": embedding, "unembedding": unembedding, "row_factors": row_factors,
    "masked_fill": masked_fill, "nonzero": refuse, "masked_select": masked_select,
}
