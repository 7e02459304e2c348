"""Functions that combine tensors: cat, stack and relatives, grids and products of vectors."""

import itertools
import warnings

import numpy as np

from .._dtypes import can_cast, type_word
from .._tensor import Tensor
from ..engines import NUMPY
from ..ops import join as ops
from ..ops._codegen import join_call
from ..ops.shape import cast, expand, reshape, unsqueeze, view
from ._args import allocating, as_int, dim_in_range, need_tensor, need_tensors, tensor_on
from ._attach import methods
from ._folds import numpy_names
from ._out import out_variant
from ._types import typed
from .contract import powers
from .shape import reshape_to

__all__ = [
    "cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack", "block_diag",
    "meshgrid", "cartesian_prod", "combinations", "atleast_1d", "atleast_2d", "atleast_3d", "kron", "vander",
]

INDEXING = (
    "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument. "
    "indexing='ij' is what it does now."
)


def joining(op, kernel):
    """Decorator of cat and stack that joins NumPy tensors of one dtype inline."""

    def decorate(careful):
        function = join_call()(op.spec, None, kernel, careful)
        function.__name__ = function.__qualname__ = careful.__name__
        function.__module__, function.__doc__ = __name__, careful.__doc__
        return function

    return decorate


def joinable(result, out, name, args):
    """Castable dtypes; raises TypeError for others."""
    if not can_cast(result, out):
        raise TypeError(f"torch.{name}(): input types can't be cast to the desired output type {type_word(out)}")


@joining(ops.cat, NUMPY.concatenate)
@out_variant(dtype=joinable, aliases="none")
def cat(tensors, dim):
    """Concatenates tensors along a dimension. Empty vectors are skipped, whatever the shape of the others."""
    tensors = need_tensors(tensors, "cat")
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return checked_cat(tensors, dim)


def checked_cat(tensors, dim):
    for i, x in enumerate(tensors):
        if x._a.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    solid = [x for x in tensors if x._a.shape != (0,)]
    if not solid:
        as_int(dim, "cat", "dim")  # whatever it is
        return ops.cat(*tensors, axis=0)
    shape = solid[0]._a.shape
    axis = dim_in_range(dim, len(shape))
    for i, x in enumerate(tensors):
        own = x._a.shape
        if own == (0,):
            continue
        if len(own) != len(shape):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(shape)} and {len(own)}")
        for d, (n, m) in enumerate(zip(shape, own)):
            if n != m and d != axis:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {n} but got size {m} for "
                    f"tensor number {i} in the list. (Shapes {list(shape)} and {list(own)}.)"
                )
    if len(solid) < len(tensors) and len(shape) > 1:
        # An empty vector adds no elements, but takes part in type promotion and remains an input of the graph node.
        empty = (*shape[:axis], 0, *shape[axis + 1:])
        tensors = [reshape(x, shape=empty) if x._a.shape == (0,) else x for x in tensors]
    return ops.cat(*tensors, axis=axis)


@joining(ops.stack, NUMPY.stack)
@out_variant(dtype=joinable, aliases="none")
def stack(tensors, dim):
    """Stacks tensors of one shape along a new dimension."""
    tensors = some_tensors(tensors, "stack")
    shape = tensors[0]._a.shape
    dim = dim_in_range(dim, len(shape) + 1)
    for i, x in enumerate(tensors):
        if x._a.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(x._a.shape)} at entry {i}"
            )
    return ops.stack(*tensors, axis=dim)


def some_tensors(tensors, name):
    tensors = need_tensors(tensors, name)
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


@numpy_names
@out_variant(dtype=joinable, aliases="none")
def concat(tensors, dim=0):
    """Alias of ``cat``."""
    return cat(tensors, dim)


@numpy_names
@out_variant(dtype=joinable, aliases="none")
def concatenate(tensors, dim=0):
    """Alias of ``cat``, after NumPy."""
    return cat(tensors, dim)


@out_variant(dtype=joinable, aliases="none")
def hstack(tensors):
    """Concatenates along dimension 1; vectors along dimension 0."""
    tensors = atleast_1d(some_tensors(tensors, "hstack"))
    return cat(tensors, 0 if tensors[0]._a.ndim == 1 else 1)


@out_variant(dtype=joinable, aliases="none")
def vstack(tensors):
    """Concatenates along dimension 0; vectors become rows."""
    return cat(atleast_2d(some_tensors(tensors, "vstack")), 0)


@out_variant(dtype=joinable, aliases="none")
def row_stack(tensors):
    """Alias of ``vstack``."""
    return vstack(tensors)


@out_variant(dtype=joinable, aliases="none")
def dstack(tensors):
    """Concatenates along dimension 2."""
    return cat(atleast_3d(some_tensors(tensors, "dstack")), 2)


@out_variant(dtype=joinable, aliases="none")
def column_stack(tensors):
    """Concatenates along dimension 1; vectors become columns."""
    tensors = some_tensors(tensors, "column_stack")
    return hstack([x if x._a.ndim > 1 else reshape_to(x, (x._a.size, 1)) for x in tensors])


def block_diag(*tensors):
    """A block-diagonal matrix; vectors count as rows."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    tensors = need_tensors(tensors, "block_diag")
    if not tensors:
        return tensor_on(np.zeros((1, 0), np.float32))
    for i, x in enumerate(tensors):
        if x._a.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {x._a.ndim} dimensions"
            )
    return ops.block_diag(*[x if x._a.ndim == 2 else reshape_to(x, (1, x._a.size)) for x in tensors])


# ---- a minimal number of dimensions


def atleast(tensors, name, raise_ndim):
    """Applies `raise_ndim` to a single tensor or to each of several."""
    if len(tensors) == 1:
        if isinstance(tensors[0], Tensor):
            return raise_ndim(tensors[0])
        tensors = tensors[0]
    return tuple([raise_ndim(x) for x in need_tensors(tensors, name)])


def atleast_1d(*tensors):
    """Scalars as vectors of one element; other tensors unchanged."""
    return atleast(tensors, "atleast_1d", lambda x: x if x._a.ndim else view(x, shape=(1,)))


def atleast_2d(*tensors):
    """Scalars and vectors as matrices of one row; other tensors unchanged."""

    def raise_ndim(x):
        n = x._a.ndim
        return x if n > 1 else unsqueeze(x, axis=0) if n else view(x, shape=(1, 1))

    return atleast(tensors, "atleast_2d", raise_ndim)


def atleast_3d(*tensors):
    """Scalars, vectors and matrices with dimensions of size one added; other tensors unchanged."""

    def raise_ndim(x):
        n = x._a.ndim
        if n > 2:
            return x
        if n == 0:
            return view(x, shape=(1, 1, 1))
        return unsqueeze(x if n == 2 else unsqueeze(x, axis=0), axis=2)

    return atleast(tensors, "atleast_3d", raise_ndim)


# ---- grids and products


def meshgrid(*tensors, indexing=None):
    """The coordinates of the grid spanned by the vectors, as expanded views of one shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    tensors = need_tensors(tensors, "meshgrid")
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warnings.warn(INDEXING, UserWarning, stacklevel=2)
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in tensors:
        if x._a.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a tensor of shape {list(x.shape)}"
            )
        if x._a.dtype != tensors[0]._a.dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = tuple([tensors[i]._a.size for i in order])
    return tuple([
        expand(view(x, shape=tuple([n if order[d] == i else 1 for d, n in enumerate(shape)])), shape=shape)
        for i, x in enumerate(tensors)
    ])


def cartesian_prod(*tensors):
    """The Cartesian product of vectors: one tuple per row."""
    tensors = need_tensors(tensors, "cartesian_prod")
    for x in tensors:
        if x._a.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._a.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape_to(x, (x._a.size,)) for x in meshgrid(*tensors, indexing="ij")], 1)


@allocating
@typed(r=int, with_replacement=bool)
def combinations(input, r=2, with_replacement=False):
    """All ``r``-element combinations of a vector's elements, as rows."""
    need_tensor(input, "combinations")
    if input._a.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._a.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return tensor_on(np.empty(0, input._a.dtype), input.device)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    picks = np.array(list(choose(range(input._a.size), r)), np.int64).reshape(-1, r)
    return reshape_to(input.index_select(0, tensor_on(picks.reshape(-1), input.device)), picks.shape)


@out_variant
def kron(input, other):
    """The Kronecker product: every element of ``input`` times ``other``."""
    need_tensor(input, "kron")
    need_tensor(other, "kron", "other", 2)
    n = max(input._a.ndim, other._a.ndim)
    a, b = ((1,) * (n - x._a.ndim) + x._a.shape for x in (input, other))
    left = reshape_to(input, tuple([m for pair in zip(a, (1,) * n) for m in pair]))
    right = reshape_to(other, tuple([m for pair in zip((1,) * n, b) for m in pair]))
    return reshape(left * right, shape=tuple([i * j for i, j in zip(a, b)]))


@typed(N=int, increasing=bool)
def vander(x, N=None, increasing=False):
    """The powers of a vector's elements, as columns."""
    need_tensor(x, "vander", "x")
    if x._a.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._a.size if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if x._a.dtype.kind in "biu":
        x = cast(x, dtype=np.dtype(np.int64))
    if count == 0:
        return tensor_on(np.empty((x._a.size, 0), x._a.dtype))
    columns = powers(x, count)
    return stack(columns if increasing else columns[::-1], 1)


methods(kron)
