"""Reading and writing elements by index.

Kernels that return a changed ``x`` copy it first, or write to it if ``into`` is set. They check indices that NumPy
would accept or wrap, but PyTorch rejects.
"""

import numpy as np

from ..._dtypes import HALF
from .. import NUMPY as engine
from .shape import restride

OUT_OF_BOUNDS = "index {index} is out of bounds for dimension {dim} with size {size}"
OUT_OF_SELF = "index out of range in self: " + OUT_OF_BOUNDS
VALUES_CLASH = "shape mismatch: value tensor of shape {values} cannot be broadcast to indexing result of shape {result}"
NOT_ENOUGH = "Number of elements of source < number of ones in mask: {source} < {mask}"
TAKE_RANGE = "out of range: tried to access index {index} on a tensor of {size} elements."

UNSIGNED = {np.dtype(np.int64): np.dtype(np.uint64), np.dtype(np.int32): np.dtype(np.uint32)}
FEW = 128  # elements up to which the simplest implementation is the fastest
PAIRS = {  # two numbers as one: half as many additions
    np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)
}
ROW = 512  # row length from which adding by rows is faster than adding by elements


# ---- index tensors: x[i, :, j]


def index_key(indices, dims):
    """The NumPy key with `indices` at the dimensions `dims`, and slices at all others."""
    key = [slice(None)] * (dims[-1] + 1)
    for d, i in zip(dims, indices, strict=True):
        key[d] = i
    return tuple(key)


def as_torch_error(error):
    """NumPy's IndexError with PyTorch's message."""
    return IndexError(str(error).replace("axis", "dimension").replace("indexing arrays", "indexing tensors"))


@engine.kernel
def new_dims(x, key):
    """x[key] for a key with None in it; the new dimensions have the strides that PyTorch gives them."""
    out = x[key]
    if out.size == x.size and x.flags.c_contiguous and 1 not in x.shape:
        return x.reshape(out.shape)
    strides, step = list(out.strides), out.itemsize
    for d in range(out.ndim - 1, -1, -1):
        if not strides[d] and out.shape[d] == 1:
            strides[d] = step
        step = strides[d] * out.shape[d]
    return restride(out, out.shape, tuple(strides))


@engine.kernel
def index(x, indices, dims):
    try:
        if len(indices) == 1 and indices[0].dtype.kind != "b" and x.flags.c_contiguous:
            return x.take(indices[0], dims[0])
        out = x[index_key(indices, dims)]
    except IndexError as error:
        raise as_torch_error(error) from None
    return out if out.flags.c_contiguous else np.ascontiguousarray(out)


@engine.kernel
def index_put(x, indices, dims, values, accumulate, into=False):
    out = x if into else np.array(x)
    key = index_key(indices, dims)
    try:
        if not accumulate:
            if np.size(values) == 0:
                refuse_surplus(values, out[key].ndim)
            out[key] = values
        elif indices[0].dtype.kind == "b":
            out[key] += values
        else:
            add_at(out, indices, dims, values)
    except (IndexError, ValueError) as error:
        refuse_misfit(values, x, indices, dims)  # PyTorch reports this before an index out of bounds
        raise as_torch_error(error) from None
    return out


def refuse_misfit(values, x, indices, dims):
    """Raises unless `values` can be broadcast to x[i, :, j]."""
    try:
        result = selected_shape(x, indices, dims)
    except ValueError:  # the indices do not broadcast
        return
    try:
        np.broadcast_to(values, result)
    except ValueError:
        raise RuntimeError(VALUES_CLASH.format(values=list(np.shape(values)), result=[*map(int, result)])) from None


def selected_shape(x, indices, dims):
    """The shape of x[i, :, j], even if an index is out of bounds; a mask must be the only index."""
    if indices[0].dtype.kind == "b":
        (mask,), (first,) = indices, dims
        return (*x.shape[:first], np.count_nonzero(mask), *x.shape[first + mask.ndim :])
    rest = [n for d, n in enumerate(x.shape) if d not in dims]
    place = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    return (*rest[:place], *np.broadcast_shapes(*[np.shape(i) for i in indices]), *rest[place:])


def refuse_surplus(values, ndim):
    """Raises for additional dimensions, which NumPy accepts in empty values."""
    if any([n != 1 for n in values.shape[: max(values.ndim - ndim, 0)]]):
        raise ValueError


@engine.kernel
def unindex(g, indices, dims, shape):
    """Zeros of `shape`, with g added at the indices."""
    out = np.zeros(shape, g.dtype)
    if indices[0].dtype.kind == "b":
        out[index_key(indices, dims)] = g
    else:
        add_at(out, indices, dims, g)
    return out


def add_at(out, indices, dims, values):
    """Adds `values` to out[i, j, ...], also at repeated indices."""
    sizes = [out.shape[d] for d in dims]
    first = dims[0]
    index = wrap_negative(indices[0], sizes[0], first)
    for i, n, d in zip(indices[1:], sizes[1:], dims[1:], strict=True):
        index = index * n + wrap_negative(i, n, d)
    rest = tuple([d for d in range(out.ndim) if d not in dims])
    adjacent = dims[-1] - first + 1 == len(dims)
    tail = tuple([out.shape[d] for d in rest])
    place = first if adjacent else 0
    shape = (*tail[:place], *index.shape, *tail[place:])
    if np.shape(values) != shape:
        values = np.broadcast_to(values, shape)
    if place:
        values = np.moveaxis(values, range(place, place + index.ndim), range(index.ndim))
    if dims[-1] >= len(dims):
        out = out.transpose(*dims, *rest)
    engine.add_rows(out, index.reshape(-1), values.reshape(index.size, *tail))


@engine.kernel
def without_row(index, rows, number):
    """Indices and their rows, without those of one index."""
    kept = index != number
    return index[kept], rows[kept]


@engine.kernel
def add_rows(out, index, rows):
    """Adds rows[j] to the row index[j] of `out`, whose leading dimensions, missing in rows[j], count as one."""
    if not rows.size:
        return
    if rows.size <= FEW and out.ndim == rows.ndim:
        np.add.at(out, index, rows)
        return
    target = out
    if out.dtype in HALF:
        target = out.astype(np.float32, order="C")
    elif not out.flags.c_contiguous:
        target = np.ascontiguousarray(out)
    width = rows[0].size
    flat = target.reshape(-1, width)
    rows = rows.reshape(-1, width).astype(flat.dtype, copy=False)
    if width == 1:
        np.add.at(flat.reshape(-1), index, rows.reshape(-1))
    elif len(index) <= len(flat) and np.bincount(index).max() == 1:
        flat[index] += rows
    elif width >= ROW:
        for i, row in zip(index.tolist(), rows, strict=True):
            to = flat[i]
            to += row
    else:
        if width % 2 == 0 and flat.dtype in PAIRS and rows.flags.c_contiguous:
            flat, rows, width = flat.view(PAIRS[flat.dtype]), rows.view(PAIRS[flat.dtype]), width // 2
        np.add.at(flat.reshape(-1), (index[:, None] * width + np.arange(width)).reshape(-1), rows.reshape(-1))
    if target is not out:
        out[...] = target.reshape(out.shape)


def wrap_negative(index, size, dim):
    """An index array with negative indices counted from the end; IndexError where one is out of bounds."""
    if not index.size or not out_of(index, size):
        return index
    beyond = (index < -size) | (index >= size)
    if beyond.any():
        raise IndexError(OUT_OF_BOUNDS.format(index=index[beyond][0], dim=dim, size=size))
    return np.where(index < 0, index + size, index)


def out_of(index, size):
    """Whether an index is negative or not below `size`, by one unsigned comparison."""
    if index.size <= FEW:
        values = index.reshape(-1).tolist()
        return min(values) < 0 or max(values) >= size
    return index.view(UNSIGNED[index.dtype]).max() >= size


def check_bounds(index, size, dim, error=IndexError, message=OUT_OF_BOUNDS):
    """Raises `error` for an index below zero or not below `size`."""
    if index.size and out_of(index, size):
        first = index[(index < 0) | (index >= size)][0]
        raise error(message.format(index=first, dim=dim, size=size))


# ---- one index along one axis


@engine.kernel
def index_select(x, index, axis):
    check_bounds(index, x.shape[axis], axis, message=OUT_OF_SELF)
    if x.flags.c_contiguous:
        return x.take(index, axis)
    return np.ascontiguousarray(x[(slice(None),) * axis + (index,)])


@engine.kernel
def index_add(x, index, source, axis, alpha, into=False):
    check_bounds(index, x.shape[axis], axis, IndexError if x.ndim == 1 else RuntimeError, OUT_OF_SELF)
    out = x if into else np.array(x)
    rows = leading(source, axis)
    if alpha != 1:
        rows = rows * np.asarray(alpha).astype(x.dtype)
    engine.add_rows(leading(out, axis), index, rows)
    return out


def leading(x, axis):
    """x with `axis` moved to the front."""
    if axis == 0:
        return x
    return x.transpose(axis, *range(axis), *range(axis + 1, x.ndim))


@engine.kernel
def index_copy(x, index, source, axis, into=False):
    check_bounds(index, x.shape[axis], axis)
    out = x if into else np.array(x)
    out[(slice(None),) * axis + (index,)] = source
    return out


# ---- the flat order of the elements


@engine.kernel
def take_flat(x, index):
    """The elements at the flat `index` of x."""
    try:
        return x.reshape(-1).take(index)
    except IndexError:
        if not x.size:
            raise IndexError("take(): tried to take from an empty tensor") from None
        raise beyond_flat(index, x.size) from None


@engine.kernel
def put_flat(x, index, source, accumulate, into=False):
    out = x if into else np.array(x)
    flat = out.reshape(-1)
    index = index.reshape(-1)
    source = np.broadcast_to(source, index.shape) if np.ndim(source) == 0 else source.reshape(-1)
    try:
        if accumulate:
            add_at(flat, (index,), (0,), source)
        else:
            flat[index] = source
    except IndexError:
        raise beyond_flat(index, x.size) from None
    if not np.may_share_memory(flat, out):
        out[...] = flat.reshape(out.shape)
    return out


def beyond_flat(index, size):
    first = index[(index < -size) | (index >= size)][0]
    return IndexError(TAKE_RANGE.format(index=first, size=size))


# ---- masks


def masked_target(x, mask, into):
    """The array to write to: x itself, or a copy broadcast with the mask."""
    if x.shape == mask.shape:
        return x if into else np.array(x)
    shape = np.broadcast_shapes(x.shape, mask.shape)
    if not into:
        return np.array(np.broadcast_to(x, shape), order="C")
    if shape != x.shape:
        raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(shape)}")
    return x


@engine.kernel
def masked_fill(x, mask, value, into=False):
    out = masked_target(x, mask, into)
    np.copyto(out, value, where=mask, casting="unsafe")
    return out


@engine.kernel
def masked_select(x, mask):
    if x.shape != mask.shape:
        x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


@engine.kernel
def masked_scatter(x, mask, source, into=False):
    out = masked_target(x, mask, into)
    mask = np.broadcast_to(mask, out.shape)
    count = int(np.count_nonzero(mask))
    if count > source.size:
        raise RuntimeError(NOT_ENOUGH.format(source=source.size, mask=count))
    out[mask] = source.reshape(-1)[:count]
    return out


@engine.kernel
def masked_pack(x, mask, shape):
    """The elements under the mask, in order, padded with zeros to `shape`."""
    picked = masked_select(x, mask)
    out = np.zeros(shape, x.dtype)
    out.reshape(-1)[:picked.size] = picked
    return out


@engine.kernel
def filled_diagonal(x, value, wrap):
    """A copy of x with `value` on the main diagonal, which with `wrap` restarts below the square part."""
    out = np.array(x, order="C")
    end = None if wrap or x.ndim > 2 else x.shape[1] * x.shape[1]
    step = 1 + sum(np.cumprod(x.shape[:0:-1])) if x.ndim > 2 else x.shape[1] + 1
    out.reshape(-1)[:end:step] = value
    return out
