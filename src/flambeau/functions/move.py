"""Functions that rearrange elements in a copy: repeat, roll, flip, triangles, diagonals, scatters into views."""

import math

import numpy as np

from .._dtypes import is_inexact
from .._signatures import set_name
from .._size import broadcasts
from .._tensor import Tensor
from ..ops import move as ops
from ..ops.reduce import sum_to
from ..ops.shape import as_strided as strided_op
from ..ops.shape import basic_index, embed_diagonal, part
from ..ops.shape import diagonal as diagonal_op
from ._args import allocating, as_int, dim_in_range, need_tensor, shape_from, tensor_on
from ._attach import inplace_methods, methods, spread
from ._folds import numpy_names
from ._out import out_variant, same
from ._types import typed
from .shape import reshape_to
from .views import clip_index, diagonal, two_dims

__all__ = [
    "tile", "repeat_interleave", "roll", "flip", "fliplr", "flipud", "rot90", "tril", "triu", "diag", "diag_embed",
    "diagflat", "select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter", "unravel_index", "trace",
]


# ---- repetitions


@spread("repeats")
def repeat(self, repeats):
    """The tensor tiled ``repeats`` times along each dimension; extra counts add leading dimensions."""
    counts = shape_from(repeats, "repeats")
    if len(counts) < self._a.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor "
            f"({len(counts)} and {self._a.ndim})"
        )
    if counts and min(counts) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeats are {list(counts)}")
    return ops.repeat(self, counts=counts)


def tile(input, dims):
    """``repeat`` with missing leading counts taken as one."""
    need_tensor(input, "tile")
    return tile_method(input, dims)


@spread("dims")
def tile_method(self, dims):
    """``repeat`` with missing leading counts taken as one."""
    counts = shape_from(dims, "dims")
    return repeat(self, (1,) * (self._a.ndim - len(counts)) + counts)


@numpy_names
@allocating
def repeat_interleave(input=None, repeats=None, dim=None, *, output_size=None):
    """Repeats each element (or slice along ``dim``) in place of itself.

    With a vector of counts as the only argument: repeats the index of each count that many times.
    """
    if input is None:
        input, repeats = repeats, None
    need_tensor(input, "repeat_interleave")
    if repeats is None:
        counts = repeat_counts(input, None)
        return tensor_on(np.repeat(np.arange(counts.size, dtype=input._a.dtype), counts), input.device)
    if dim is None:
        input, dim = reshape_to(input, (input._a.size,)), 0
    dim = dim_in_range(dim, input._a.ndim)
    if input._a.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions. Leave dim= out to repeat it")
    n = input._a.shape[dim]
    if not isinstance(repeats, Tensor):
        count = as_int(repeats, "repeat_interleave", "repeats")
        if count < 0:
            raise RuntimeError("Repeats must be non-negative")
        places, total = None, n * count
    else:
        places = np.repeat(np.arange(n), repeat_counts(repeats, n))
        total = places.size
    if output_size is not None and output_size != total:
        raise RuntimeError(f"allocated size does not match required size: {output_size} and {total}")
    if places is None:
        return ops.repeat_interleave(input, count=count, axis=dim)
    return input.index_select(dim, tensor_on(places, input.device))


def repeat_counts(repeats, n):
    """The counts of a repeats tensor as an array: one, or one for each of n."""
    counts = repeats._a
    if counts.ndim > 1 or (n is None and counts.ndim != 1):
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor" if n is not None else
                           "repeat_interleave only accept 1D vector as repeat")
    if counts.dtype.kind not in "iu" or counts.itemsize < 4:
        raise NotImplementedError(f"repeat_interleave: repeats must be int64 or int32, not {repeats.dtype}")
    counts = counts.reshape(-1)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if n is not None and counts.size not in (1, n):
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{counts.size} and input.size(dim) = {n}")
    return counts


# ---- other orders


def roll(input, shifts, dims=()):
    """The elements shifted cyclically along dimensions."""
    need_tensor(input, "roll")
    shifts = shape_from((shifts,) if isinstance(shifts, (tuple, list)) else ((shifts,),), "shifts")
    dims = () if dims is None else shape_from((dims,) if isinstance(dims, (tuple, list)) else ((dims,),), "dims")
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return ops.roll(input, shifts=shifts[0], axes=None)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if input._a.ndim == 0:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    if not input._a.size:  # PyTorch then ignores the dimensions
        return ops.roll(input, shifts=shifts[0], axes=None)
    axes = tuple([dim_in_range(d, input._a.ndim) for d in dims])
    return ops.roll(input, shifts=shifts, axes=axes)


def flip(input, dims):
    """The elements in reverse order along ``dims``, copied."""
    need_tensor(input, "flip")
    return flip_method(input, dims)


@spread("dims")
def flip_method(self, dims):
    """The elements in reverse order along ``dims``, copied."""
    n = self._a.ndim
    axes = tuple([dim_in_range(d, n) for d in shape_from(dims, "dims")])
    if len(set(axes)) < len(axes):
        raise RuntimeError(f"dim {max(axes, key=axes.count)} appears multiple times in the list of dims")
    return ops.flip(self, axes=axes if n else ())


def fliplr(input):
    """The columns in reverse order, copied."""
    need_tensor(input, "fliplr")
    if input._a.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return ops.flip(input, axes=(1,))


def flipud(input):
    """The rows in reverse order, copied."""
    need_tensor(input, "flipud")
    if input._a.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return ops.flip(input, axes=(0,))


@typed(k=int)
def rot90(input, k=1, dims=(0, 1)):
    """Rotates by 90 degrees ``k`` times in the plane of two dimensions, from the first towards the second."""
    need_tensor(input, "rot90")
    dims = shape_from((dims,), "dims")
    n = input._a.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == n:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return ops.rot90(input, times=k, axes=tuple([dim_in_range(d, n) for d in dims]))


# ---- triangles and diagonals


def triangle(call, name, side):
    def function(input, diagonal=0):
        need_tensor(input, name)
        if input._a.ndim < 2:
            shape = list(input._a.shape)
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got shape {shape}")
        return call(input, diagonal=as_int(diagonal, name, "diagonal"))

    set_name(function, name, f"The {side} triangle of each matrix, zeros elsewhere; ``diagonal`` says where it ends.")
    return out_variant(function, dtype=same, aliases="any")


tril = triangle(ops.tril, "tril", "lower")
triu = triangle(ops.triu, "triu", "upper")


@out_variant(dtype=same)
def diag(input, diagonal=0):
    """A matrix with the vector on its diagonal, or a copy of the diagonal of a matrix."""
    need_tensor(input, "diag")
    ndim = input._a.ndim
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    return diag_embed(input, diagonal) if ndim == 1 else diagonal_copy(input, diagonal)


def diagonal_copy(input, offset):
    return diagonal(input, offset).clone()


@typed(offset=int)
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension on their diagonals and zeros elsewhere."""
    need_tensor(input, "diag_embed")
    shape = input._a.shape
    axis1, axis2 = dim_in_range(dim1, len(shape) + 1), dim_in_range(dim2, len(shape) + 1)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not shape:
        raise IndexError("Dimension out of range: diag_embed needs a tensor of at least one dimension")
    side = shape[-1] + abs(offset)
    new = list(shape[:-1])
    for axis in sorted((axis1, axis2)):
        new.insert(axis, side)
    return embed_diagonal(input, shape=tuple(new), offset=offset, axis1=axis1, axis2=axis2)


@typed(offset=int)
def diagflat(input, offset=0):
    """A matrix with all elements of the tensor on its diagonal."""
    need_tensor(input, "diagflat")
    return diag_embed(reshape_to(input, (input._a.size,)), offset)


def trace(input):
    """The sum of the diagonal of a matrix."""
    need_tensor(input, "trace")
    if input._a.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._a.ndim}")
    return ops.trace(input)


# ---- a copy with a part replaced


def check_fits(name, src, part_shape):
    need_tensor(src, name, "src", 2)
    if src._a.shape != part_shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src._a.shape)}, slice size = {list(part_shape)}"
        )


def scatter_view(call, input, src, step, settings):
    """`input` with `src` in place of the view that an op returns."""
    return call(input, src, chain=((step, settings, None),))


@numpy_names
def select_scatter(input, src, dim, index):
    """A copy with ``src`` in place of ``input.select(dim, index)``."""
    need_tensor(input, "select_scatter")
    check_fits("select_scatter", src, input.select(dim, index)._a.shape)
    key = (slice(None),) * dim_in_range(dim, input._a.ndim) + (as_int(index, "select_scatter", "index"), ...)
    return scatter_view(ops.select_scatter, input, src, basic_index, {"key": key, "node": "SelectBackward0"})


@numpy_names
@out_variant(dtype=same, aliases="any")
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy with ``src`` in place of the slice ``start:end:step`` along a dimension."""
    need_tensor(input, "slice_scatter")
    dim = dim_in_range(dim, input._a.ndim)
    n = input._a.shape[dim]
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    start, end = (clip_index(e, n) if e is not None else d for e, d in ((start, 0), (end, n)))
    key = part(dim, start, max(start, end), step)
    check_fits("slice_scatter", src, input._a[key].shape)
    return scatter_view(ops.slice_scatter, input, src, basic_index, {"key": key})


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy with ``src`` in place of ``input.diagonal(offset, dim1, dim2)``."""
    need_tensor(input, "diagonal_scatter")
    axis1, axis2 = two_dims(dim1, dim2, input._a.ndim)
    check_fits("diagonal_scatter", src, diagonal(input, offset, dim1, dim2)._a.shape)
    settings = {"offset": offset, "axis1": axis1, "axis2": axis2}
    return scatter_view(ops.diagonal_scatter, input, src, diagonal_op, settings)


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy with ``src`` in place of ``input.as_strided(size, stride, storage_offset)``."""
    if 0 in need_tensor(input, "as_strided_scatter").stride():
        input = input.contiguous()  # strides refer to the memory of a contiguous copy
    check_fits("as_strided_scatter", src, input.as_strided(size, stride, storage_offset)._a.shape)
    offset = input.storage_offset() if storage_offset is None else storage_offset
    settings = {
        "size": shape_from((size,)), "stride": shape_from((stride,)), "offset": offset,
        "own_stride": input.stride(), "own_offset": input.storage_offset(),
    }
    return scatter_view(ops.as_strided_scatter, input, src, strided_op, settings)


# ---- sums and indices


@spread("size")
def sum_to_size(self, size):
    """Sums over the dimensions that broadcasting from ``size`` to this shape expands."""
    shape, own = shape_from(size), self._a.shape
    if not broadcasts(shape, own):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}.")
    if not shape:
        return self.sum()
    is_sum_of_ints = not is_inexact(self._a.dtype) and tuple(shape) != own
    return sum_to(self.long() if is_sum_of_ints else self, shape)


def unravel_index(indices, shape):
    """Converts flat indices into ``shape`` to coordinates: one tensor per dimension."""
    if not isinstance(indices, Tensor):
        raise TypeError(f"unravel_index(): argument 'indices' must be Tensor, not {type(indices).__name__}")
    if is_inexact(indices._a.dtype) or indices._a.dtype.kind == "b":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)):
        raise ValueError(f"expected 'shape' to be int or sequence of ints, but got {type(shape).__name__}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all([isinstance(n, int) for n in sizes]):
        raise ValueError(f"expected 'shape' to be int or sequence of ints, but got {shape}")
    if any([n < 0 for n in sizes]):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
    steps, sizes = (tensor_on(np.array(numbers, np.int64), indices.device) for numbers in (steps, sizes))
    return (indices.long().unsqueeze(-1) // steps % sizes).unbind(-1)


methods(
    repeat, repeat_interleave, roll, fliplr, flipud, rot90, tril, triu, diag, diag_embed, diagflat, select_scatter,
    slice_scatter, diagonal_scatter, as_strided_scatter, sum_to_size, trace, flip=flip_method, tile=tile_method,
)
inplace_methods(tril, triu)
