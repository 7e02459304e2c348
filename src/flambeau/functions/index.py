"""Functions that read and write elements by index or mask."""

import warnings

import numpy as np

from .. import _dtypes
from .._device import META
from .._dtypes import type_word
from .._tensor import Tensor, wrap
from ..engines import demand
from ..ops import index as ops
from ..ops.shape import cast
from ._args import allocating, as_int, as_number, dim_in_range, need_tensor, tensor_on
from ._attach import methods
from ._data import scalar_for
from ._folds import numpy_names
from ._inplace import inplace, op_methods
from ._out import out_variant, same

__all__ = [
    "argwhere", "index_add", "index_copy", "index_fill", "index_put", "index_put_", "index_select", "masked_fill",
    "masked_scatter", "masked_select", "nonzero", "nonzero_static", "put", "take",
]

NOT_INDICES = "tensors used as indices must be long, int, byte or bool tensors, not {dtype}"
OUT_OF_SELF = "index out of range in self: index {index} is out of bounds for size {size}"
TOO_MANY = "too many indices for tensor of dimension {ndim}"
MASK_SHAPE = (
    "The shape of the mask {mask} at index {at} does not match the shape of the indexed tensor {shape} at index {place}"
)
BYTE_MASK = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
PUT_DTYPES = (
    "Index put requires the source and destination dtypes match, got {own} for the destination and {value} for the "
    "source. Cast the value with .to({dtype})."
)

_INT64, _INT32 = np.dtype(np.int64), np.dtype(np.int32)


# ---- reading arguments


def need_index(index, name, position, *, only_long=False, error=RuntimeError):
    """Raises unless `index` is a tensor of int64 (or int32)."""
    need_tensor(index, name, "index", position)
    dtype = index._a.dtype
    if dtype != _INT64 and (only_long or dtype != _INT32):
        wanted = "int64" if only_long else "int32 or int64"
        raise error(f"{name}(): Expected dtype {wanted} for index, but got {index.dtype}")


def need_vector(index, name):
    """Raises unless `index` is a vector (or a scalar) of int64 or int32."""
    if need_tensor(index, name, "index", 3)._a.ndim > 1:
        kind = f"{index.dtype} of shape {list(index.shape)}"
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got {kind}")
    need_index(index, name, 3)


def need_in_range(index, size):
    """Raises IndexError unless all indices are in [0, size)."""
    if index._a.size and index.device is not META:
        lowest, highest = index._a.min(), index._a.max()
        demand(lowest >= 0, lowest, lambda got: IndexError(OUT_OF_SELF.format(index=got, size=size)))
        demand(highest < size, highest, lambda got: IndexError(OUT_OF_SELF.format(index=got, size=size)))


def as_vector(index):
    """A 0-dimensional index as a vector of one element."""
    return index if index._a.ndim else index.reshape(1)


def fill_value(value, t, name):
    """The value of a fill, a number or 0-dim tensor, in the dtype of `t`."""
    if isinstance(value, Tensor):
        if value._a.ndim:
            raise RuntimeError(
                f"{name}_ only supports a 0-dimensional value tensor, but got tensor with {value._a.ndim} dimension(s)."
            )
        if value._a.dtype == t._a.dtype:
            return value
        if not _dtypes.can_cast(value.dtype, t.dtype):
            scalar_for(value._a.item(), t._a.dtype)
        return cast(value, dtype=t._a.dtype)
    if isinstance(value, np.generic):
        value = _dtypes.python_number(value)
    if not isinstance(value, (int, float, complex)):
        raise TypeError(f"{name}(): argument 'value' must be Tensor or Number, not {type(value).__name__}")
    return scalar_for(value, t._a.dtype)


def need_mask(mask, name):
    need_tensor(mask, name, "mask", 2)
    if mask._a.dtype.kind != "b":
        raise RuntimeError(f"{name}_ only supports boolean masks (BoolTensor), but got mask with dtype {mask.dtype}")


def same_dtype(input, source, name):
    if input._a.dtype != source._a.dtype:
        raise RuntimeError(
            f"{name}(): self ({type_word(input.dtype)}) and source ({type_word(source.dtype)}) must have the same "
            "scalar type"
        )


# ---- index tensors


def expand_masks(indices, t, dims=None):
    """Index tensors and their dimensions, with masks converted to indices; a single mask is kept."""
    dims = range(len(indices)) if dims is None else dims
    found, places, at = [], [], 0
    for i, d in zip(indices, dims, strict=True):
        dtype = i._a.dtype
        at = max(at, d)
        if dtype.kind == "b" or dtype == np.uint8:
            if dtype.kind != "b":
                warnings.warn(BYTE_MASK, UserWarning, stacklevel=4)
                i = wrap(i._a.astype(bool))
            check_mask(i, t, at)
            if len(indices) == 1 and i._a.ndim:
                return [i], (at,)
            found += map(wrap, i._a.nonzero())
            places += range(at, at + i._a.ndim)
            at += i._a.ndim
            continue
        if dtype != _INT64 and dtype != _INT32:
            raise IndexError(NOT_INDICES.format(dtype=i.dtype))
        found.append(i)
        places.append(at)
        at += 1
    if at > t._a.ndim:
        raise IndexError(TOO_MANY.format(ndim=t._a.ndim))
    return found, tuple(places)


def without_empty_masks(indices, t):
    """Index tensors without 0-dim masks, which next to others have no effect and alone select everything or nothing."""
    if all([i._a.ndim or i._a.dtype.kind != "b" for i in indices]):
        return indices
    if len(indices) > t._a.ndim:
        raise IndexError(TOO_MANY.format(ndim=t._a.ndim))
    return [i for i in indices if i._a.ndim or i._a.dtype.kind != "b"] or [indices[0].expand(t.shape[:1])]


def check_mask(mask, t, at):
    """Raises IndexError unless the mask matches the dimensions of `t` from `at` on."""
    shape, own = mask._a.shape, t._a.shape
    if at + len(shape) > len(own):
        raise IndexError(TOO_MANY.format(ndim=len(own)))
    for j, n in enumerate(shape):
        if own[at + j] != n:
            raise IndexError(MASK_SHAPE.format(mask=list(shape), at=j, shape=list(own), place=at + j))


def index_put_call(input, indices, values, accumulate, name):
    """Checks the arguments of index_put: (op, inputs, settings)."""
    if isinstance(indices, Tensor) or not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 2) must be tuple of Tensors, not {type(indices).__name__}"
        )
    for position, i in enumerate(indices):
        if not isinstance(i, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(i).__name__}")
    need_tensor(values, name, "values", 3)
    if not indices:
        raise RuntimeError(f"{name}(): needs at least one index tensor")
    found, dims = expand_masks(without_empty_masks(indices, input), input)
    return put_call(input, found, dims, values, bool(accumulate))


def put_call(input, indices, dims, values, accumulate=False):
    """(op, inputs, settings) of a write to the elements that index tensors select."""
    if values._a.dtype != input._a.dtype:
        raise RuntimeError(PUT_DTYPES.format(
            own=type_word(input.dtype), value=type_word(values.dtype), dtype=input.dtype
        ))
    return ops.index_put, (input, values, *indices), {"dims": dims, "accumulate": accumulate}


@op_methods(out=False)
def index_put(input, indices, values, accumulate=False):
    """`input` with `values` stored at the given indices, or added there if `accumulate`."""
    need_tensor(input, "index_put")
    return index_put_call(input, indices, values, accumulate, "index_put")


index_put_ = Tensor.index_put_


# ---- one index vector along a dimension


@numpy_names
@out_variant(dtype=same, aliases="none")
def index_select(input, dim, index):
    """The slices of `input` along ``dim`` at the given indices."""
    need_tensor(input, "index_select")
    axis = dim_in_range(as_int(dim, "index_select", "dim"), input._a.ndim)
    need_vector(index, "index_select")
    if input._a.ndim == 0 and index._a.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index._a.size} value(s)")
    return ops.index_select(input, as_vector(index), axis=axis)


@op_methods
@numpy_names
def index_add(input, dim, index, source, *, alpha=1):
    """`input` with ``alpha * source`` added to the slices along ``dim`` at the given indices."""
    axis = check_source(input, dim, index, source, "index_add")
    alpha = scalar_for(as_number(alpha, "index_add", "alpha"), input._a.dtype)
    return ops.index_add, (input, source, as_vector(index)), {"axis": axis, "alpha": alpha}


def check_source(input, dim, index, source, name):
    """Checks the arguments of index_add and index_reduce; returns the dimension."""
    need_tensor(input, name)
    axis = dim_in_range(as_int(dim, name, "dim"), input._a.ndim)
    need_vector(index, name)
    need_tensor(source, name, "source", 4)
    same_dtype(input, source, name)
    own, other, count = input._a.shape, source._a.shape, index._a.size
    along = 1 if not other else other[axis] if axis < len(other) else None
    if along != count:
        raise RuntimeError(
            f"{name}(): Number of indices ({count}) should be equal to source.size(dim): ({along}), for dim: {axis}"
        )
    same = len(own) == len(other) or (not own and other == (1,))
    if not same or own[:axis] != other[:axis] or own[axis + 1:] != other[axis + 1:]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(own)} source.shape = {list(other)}"
        )
    return axis


@op_methods
@numpy_names
def index_copy(input, dim, index, source):
    """`input` with the slices along ``dim`` at the given indices replaced by those of `source`."""
    need_tensor(input, "index_copy")
    axis = dim_in_range(as_int(dim, "index_copy", "dim"), input._a.ndim)
    need_index(index, "index_copy", 3, only_long=True)
    need_tensor(source, "index_copy", "source", 4)
    own, other, count = input._a.shape, source._a.shape, index._a.size
    if index._a.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index._a.ndim})")
    if not other and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if len(own) != len(other) and own and other:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({len(other)}), destination dimensionality ({len(own)})"
        )
    if own[:axis] != other[:axis] or own[axis + 1:] != other[axis + 1:]:
        raise RuntimeError(
            f"index_copy_(): Source/destination tensor must have same slice shapes apart from dimension {axis}. "
            f"Destination: {list(own)}, source: {list(other)}"
        )
    if other and other[axis] != count:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({other[axis]})"
        )
    same_dtype(input, source, "index_copy_")
    return ops.index_copy, (input, source, as_vector(index)), {"axis": axis}


@op_methods(out=False)
@numpy_names
def index_fill(input, dim, index, value):
    """`input` with the slices along ``dim`` at the given indices filled with `value`."""
    need_tensor(input, "index_fill")
    axis = dim_in_range(as_int(dim, "index_fill", "dim"), input._a.ndim)
    need_index(index, "index_fill_", 3, only_long=True, error=IndexError)
    if index._a.ndim > 1:
        raise RuntimeError(f"Index has to be a vector/scalar, but got shape {list(index.shape)}")
    if isinstance(value, complex) and input._a.dtype.kind != "c":
        raise RuntimeError(f"index_fill_(): a complex value ({value}) cannot fill a tensor of {input.dtype}")
    return ops.index_fill, (input, fill_value(value, input, "index_fill"), as_vector(index)), {"axis": axis}


# ---- the flat order of the elements


@out_variant(dtype=same, aliases="none")
def take(input, index):
    """The elements of the flattened `input` at `index`; the result has the shape of `index`."""
    need_tensor(input, "take")
    need_index(index, "take", 2, only_long=True)
    return ops.take(input, index)


@op_methods(out=False)
def put(input, index, source, accumulate=False):
    """`input` with the elements of `source` stored at the flat indices `index`."""
    need_tensor(input, "put")
    need_index(index, "put_", 2, only_long=True)
    need_tensor(source, "put", "source", 3)
    same_dtype(input, source, "put_")
    if source._a.size != index._a.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._a.size}, index.numel() = {index._a.size}"
        )
    return ops.put, (input, source, index), {"accumulate": bool(accumulate)}


# ---- masks


@op_methods(out=False)
def masked_fill(input, mask, value):
    """`input` with `value` where the mask is True."""
    need_tensor(input, "masked_fill")
    need_mask(mask, "masked_fill")
    return ops.masked_fill, (input, fill_value(value, input, "masked_fill"), mask), {}


@out_variant(dtype=same, aliases="none")
def masked_select(input, mask):
    """A vector of the elements where the mask is True."""
    need_tensor(input, "masked_select")
    need_mask(mask, "masked_select")
    return ops.masked_select(input, mask)


@op_methods(out=False)
def masked_scatter(input, mask, source):
    """`input` with the elements of `source`, in order, where the mask is True."""
    need_tensor(input, "masked_scatter")
    need_mask(mask, "masked_scatter")
    need_tensor(source, "masked_scatter", "source", 3)
    if input._a.dtype != source._a.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {type_word(input.dtype)} and "
            f"{type_word(source.dtype)}"
        )
    return ops.masked_scatter, (input, source, mask), {}


# ---- positions of nonzero elements


@out_variant(dtype=same)
def nonzero(input, *, as_tuple=False, out=None):
    """The indices of the nonzero elements, one per row, or with `as_tuple` a vector per dimension."""
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True: omit one of them")
    return nonzero_method(input, as_tuple=as_tuple)


def nonzero_method(input, *, as_tuple=False):
    """The indices of the nonzero elements, one per row, or with `as_tuple` a vector per dimension."""
    need_tensor(input, "nonzero")
    if as_tuple:
        return ops.nonzero(input if input._a.ndim else input.reshape(1)).unbind(1)
    return ops.nonzero(input)


def argwhere(input):
    """The indices of the nonzero elements, one per row."""
    return nonzero(need_tensor(input, "argwhere"))


@out_variant(dtype=same)
@allocating
def nonzero_static(input, *, size, fill_value=-1):
    """The first `size` rows of ``nonzero``, padded with `fill_value`."""
    need_tensor(input, "nonzero_static")
    if as_int(size, "nonzero_static", "size") < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    found = ops.nonzero(input)._a[:size]
    rows = np.full((size, input._a.ndim), fill_value, np.int64)
    rows[: len(found)] = found
    return tensor_on(rows, input.device)


def fill_diagonal(input, fill_value, wrap=False):
    """`input` with `fill_value` on its main diagonal; with `wrap`, the diagonal of a tall matrix restarts below."""
    need_tensor(input, "fill_diagonal_")
    shape = input._a.shape
    if len(shape) < 2:
        raise RuntimeError(f"fill_diagonal_(): dimensions must larger than 1, but got shape {list(shape)}")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError(f"fill_diagonal_(): all dimensions of input must be of equal length, but got {list(shape)}")
    value = scalar_for(as_number(fill_value, "fill_diagonal_", "fill_value"), input._a.dtype)
    return ops.fill_diagonal(input, value=value, wrap=bool(wrap))


methods(argwhere, index_select, masked_select, nonzero_static, take, nonzero=nonzero_method)
methods(fill_diagonal_=inplace(fill_diagonal, "fill_diagonal_"))
