"""Functions that gather and scatter along one dimension, with an index for each element."""

import numpy as np

from .._dtypes import type_word
from .._tensor import Tensor
from ..ops import scatter as ops
from ..ops._errors import refuse_kinds
from ..ops.shape import expand
from ._args import as_int, dim_in_range, need_tensor
from ._attach import inplace_methods, methods
from ._data import scalar_for
from ._folds import numpy_names
from ._inplace import op_methods
from ._out import out_variant, same
from .index import check_source, need_in_range, need_index

__all__ = ["gather", "index_reduce", "scatter", "scatter_add", "scatter_reduce", "take_along_dim"]

_INT64 = np.dtype(np.int64)
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


# ---- reading arguments


def check_scatter(input, dim, index, name, src=None):
    """Checks the index and source; returns the dimension."""
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    axis = dim_in_range(dim if type(dim) is int else as_int(dim, name, "dim"), input._a.ndim)
    if not isinstance(index, Tensor) or (index._a.dtype is not _INT64 and index._a.size):
        need_index(index, name, 3)
    if src is not None:
        need_tensor(src, name, "src", 4)
        if src._a.dtype != input._a.dtype:
            raise RuntimeError(
                f"{name}(): Expected self.dtype to be equal to src.dtype, but got {type_word(input.dtype)} and "
                f"{type_word(src.dtype)}"
            )
    if not index._a.size:
        return axis
    own, shape = input._a.shape or (1,), index._a.shape or (1,)
    if len(shape) != len(own):
        whose = "input" if name == "gather" else "self"
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {whose} tensor: {list(shape)} and {list(own)}"
        )
    for d, (n, m) in enumerate(zip(shape, own, strict=True)):
        if n > m and d != axis:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(shape)} to be no larger than self "
                f"{list(own)} apart from dimension {axis}"
            )
    if src is not None:
        other = src._a.shape or (1,)
        if len(other) != len(shape):
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as src tensor: {list(shape)} and {list(other)}"
            )
        if shape != other and any(n > m for n, m in zip(shape, other, strict=True)):
            raise RuntimeError(
                f"Expected index {list(shape)} to be no larger size than src {list(other)}; self is {list(own)}"
            )
    return axis


# ---- functions


@numpy_names
@out_variant(dtype=same, aliases="none")
def gather(input, dim, index, *, sparse_grad=False):
    """The elements ``input[..., index[...], ...]``, with `index` in the position ``dim``."""
    axis = check_scatter(input, dim, index, "gather")
    return ops.gather(input, index, axis=axis)


@numpy_names
@out_variant(dtype=same, aliases="none")
def take_along_dim(input, indices, dim=None):
    """``gather`` with `input` and `indices` broadcast against each other, in all dimensions but ``dim``."""
    need_tensor(input, "take_along_dim")
    need_tensor(indices, "take_along_dim", "indices", 2)
    if indices._a.dtype != np.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {type_word(indices.dtype)}"
        )
    if dim is None:
        input, indices, axis = input.reshape(-1), indices.reshape(-1), 0
    else:
        if input._a.ndim != indices._a.ndim:
            raise RuntimeError(
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                f"{input._a.ndim} dimensions for input, and {indices._a.ndim} dimensions for indices"
            )
        axis = dim_in_range(dim, input._a.ndim)
        input, indices = broadcast_others(input, indices, axis)
        indices = indices % max(input._a.shape[axis], 1)  # unlike gather, allows negative indices
    return ops.gather(input, indices, axis=axis)


def broadcast_others(input, indices, axis):
    """Broadcasts both tensors in all dimensions but `axis`."""
    own, other = list(input._a.shape), list(indices._a.shape)
    for d, (n, m) in enumerate(zip(own, other, strict=True)):
        if d != axis and n != m:
            if n != 1 and m != 1:
                raise RuntimeError(
                    f"The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton dimension {d}"
                )
            own[d] = other[d] = m if n == 1 else n
    if tuple(own) != input._a.shape:
        input = expand(input, shape=tuple(own))
    if tuple(other) != indices._a.shape:
        indices = expand(indices, shape=tuple(other))
    return input, indices


@op_methods
@numpy_names
def scatter(input, dim, index, src=None, value=None, *, reduce=None):
    """`input` with the elements of `src` (or the number ``value``) at ``[..., index[...], ...]``.

    ``reduce="add"`` and ``"multiply"`` combine them with the elements of `input`.
    """
    if src is None:
        src = value
    if isinstance(src, Tensor):
        axis = check_scatter(input, dim, index, "scatter", src)
    elif isinstance(src, (int, float, complex, np.generic)):
        axis = check_scatter(input, dim, index, "scatter")
        src = scalar_for(src, input._a.dtype) if index._a.size else 0  # an unused value is not checked, as in PyTorch
    else:
        raise TypeError(f"scatter(): argument 'src' (position 4) must be Tensor or Number, not {type(src).__name__}")
    inputs = (input, src, index)
    if reduce is None:
        return ops.scatter, inputs, {"axis": axis}
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, but got {reduce!r}")
    return (ops.scatter_add if reduce == "add" else ops.scatter_multiply), inputs, {"axis": axis}


@op_methods
@numpy_names
def scatter_add(input, dim, index, src):
    """`input` with the elements of `src` added at ``[..., index[...], ...]``."""
    need_tensor(src, "scatter_add", "src", 4)
    axis = check_scatter(input, dim, index, "scatter_add", src)
    return ops.scatter_add, (input, src, index), {"axis": axis}


@numpy_names
@out_variant(dtype=same)
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """`input` reduced with the elements of `src` at ``[..., index[...], ...]`` by sum, prod, mean, amax or amin."""
    need_tensor(src, "scatter_reduce", "src", 4)
    axis = check_scatter(input, dim, index, "scatter_reduce", src)
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    refuse_kinds(f"scatter_reduce_{reduce}", input._a, {"mean": "b", "amax": "c", "amin": "c"}.get(reduce, ""))
    return ops.scatter_reduce(input, src, index, axis=axis, reduce=reduce, include_self=bool(include_self))


@numpy_names
@out_variant(dtype=same)
def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """`input` with the slices along ``dim`` at the given indices reduced with those of `source`."""
    if reduce not in REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    axis = check_source(input, dim, index, source, "index_reduce")
    refuse_kinds("index_reduce", input._a, "bc")
    need_in_range(index, input._a.shape[axis] if input._a.ndim else 1)
    shape = source._a.shape
    along = index.reshape(tuple([-1 if d == axis else 1 for d in range(len(shape))]))
    index = expand(along, shape=shape)
    return ops.index_reduce(input, source, index, axis=axis, reduce=reduce, include_self=bool(include_self))


methods(gather, index_reduce, scatter_reduce, take_along_dim)
inplace_methods(index_reduce, scatter_reduce)
