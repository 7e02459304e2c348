"""Sparse tensors: Tensors with the layout ``sparse_coo``, which store values and their indices."""

import numpy as np

from .._device import sparse_coo, strided
from .._dtypes import FLOAT, int64, type_word
from .._tensor import wrap
from ..autograd._writes import check_writable, write
from ..engines import demand
from ..ops import sparse as ops
from ._args import dims_in_range, need_tensor, nonnegative, np_dtype_of, shape_from
from ._attach import methods
from .from_data import as_tensor

__all__ = ["sparse_coo_tensor"]

EXPECTED = "{name} expected sparse coordinate tensor layout but got Strided: to_sparse() makes one"
UNCOALESCED = "Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
INDICES_RANK = (
    "indices must be sparse_dim x nnz, but got: {shape}: one row for each sparse dimension, one column for each element"
)
COUNTS = "indices and values must have same nnz, but got nnz from indices: {indices}, nnz from values: {values}"
RANK = (
    "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {size}, sparse_dim = {sparse}, dense_dim = "
    "{dense}"
)
DENSE_SIZE = "values has incorrect size, expected {expected}, got {got}: the dense dimensions are those of the size"
NEGATIVE_INDEX = "found negative index {got} in the indices of a sparse tensor"
INDEX_RANGE = "size is inconsistent with indices: for dim {dim}, size is {size} but found index {got}"
SPARSE_DIM = "sparse_dim must be in the range from 1 to the number of dimensions ({ndim}), got {got}"
NO_DTYPE = "dtype argument is not supported by sparse_to_dense: convert the result"


# ---- making them


def sparse_coo_tensor(indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False,
                      requires_grad=False, check_invariants=None, is_coalesced=None):
    """A tensor that is zero except for ``values`` at ``indices``.

    Args:
        indices: ``(sparse dimensions, n)`` integers, a column per element. Elements with equal indices are summed.
        values: the ``n`` elements, or slices if some dimensions are dense.
        size: the shape; by default the smallest that fits the indices. Alone, it gives a tensor without elements.
        is_coalesced: promises that the indices are unique and sorted.

    Example::

        >>> sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    if values is None:
        shape = nonnegative(shape_from((indices if size is None else size,), name="sparse_coo_tensor"))
        indices, values = np.zeros((len(shape), 0), np.int64), np.zeros(0, np_dtype_of(dtype))
        size, is_coalesced = shape, True
    values = as_tensor(values, dtype, device)
    indices = as_tensor(indices, device=values.device).to(int64)
    if requires_grad:
        values = values.detach()
    shape = _checked_shape(indices._a, values._a, size)
    out = ops.sparse_coo(indices, values, shape=shape, coalesced=bool(is_coalesced))
    if requires_grad:
        out.requires_grad = True
    return out


def _checked_shape(indices, values, size):
    """The shape of a tensor of these parts; raises if they do not match."""
    if indices.ndim != 2:
        raise RuntimeError(INDICES_RANK.format(shape=list(indices.shape)))
    sparse, count = indices.shape
    dense = values.shape[1:]
    if not values.ndim or count != values.shape[0]:
        raise RuntimeError(COUNTS.format(indices=count, values=values.shape[0] if values.ndim else 0))
    if size is None:
        top = [int(n) for n in indices.max(1) + 1] if count else [0] * sparse
        shape = (*top, *dense)
    else:
        shape = nonnegative(shape_from((size,), name="sparse_coo_tensor"))
    if len(shape) != sparse + len(dense):
        raise RuntimeError(RANK.format(size=len(shape), sparse=sparse, dense=len(dense)))
    if shape[sparse:] != dense:
        expected = [count, *shape[sparse:]]
        raise RuntimeError(DENSE_SIZE.format(expected=expected, got=[count, *dense]))
    for dim in range(sparse if count else 0):
        _check_range(indices[dim], dim, shape[dim])
    return shape


def _check_range(index, dim, size):
    low, high = index.min(), index.max()
    demand(low >= 0, low, lambda got: RuntimeError(NEGATIVE_INDEX.format(got=got)))
    demand(high < size, high, lambda got: RuntimeError(INDEX_RANGE.format(dim=dim, size=size, got=got)))


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """Converts the tensor to the layout ``sparse_coo``; the last dimensions may remain dense."""
    if layout not in (None, sparse_coo) or blocksize is not None or dense_dim is not None:
        raise NotImplementedError(f"to_sparse(): only layout=torch.sparse_coo is supported, got {layout}")
    if self.layout is sparse_coo:
        return self
    ndim = self._a.ndim
    number = ndim if sparse_dim is None else sparse_dim
    if not min(1, ndim) <= number <= ndim:
        raise RuntimeError(SPARSE_DIM.format(ndim=ndim, got=sparse_dim))
    return ops.to_sparse(self, sparse_dim=number)


def to_sparse_coo(self):
    """Converts the tensor to the layout ``sparse_coo``."""
    return to_sparse(self)


def to_dense(self, dtype=None, *, masked_grad=None):
    """Converts the tensor to a dense one; returns a dense tensor itself."""
    if self.layout is strided:
        return self if dtype is None else self.to(dtype)
    if dtype is not None and dtype is not self.dtype:
        raise RuntimeError(NO_DTYPE)
    return ops.to_dense(self)


def sparse_mask(self, mask):
    """The elements of the tensor at the indices of ``mask``, a sparse tensor."""
    _need_sparse(need_tensor(mask, "sparse_mask", "mask"), "sparse_mask")
    if self._a.shape != mask._a.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but "
                           f"mask has size {list(mask.shape)}")
    return ops.sparse_mask(self, mask)


# ---- their parts


def _need_sparse(t, name):
    if t.layout is not sparse_coo:
        raise RuntimeError(EXPECTED.format(name=name))


def _array(t, name):
    """The array of a sparse tensor; raises for others."""
    if t.layout is not sparse_coo:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: " +
                                  EXPECTED.format(name=name))
    return t._a


def _indices(self):
    """The indices, possibly repeated, without a copy."""
    return wrap(_array(self, "_indices").indices, self.device)


def _values(self):
    """The values, also those at repeated indices, without a copy."""
    return wrap(_array(self, "_values").values, self.device)


def indices(self):
    """The indices of a coalesced tensor: ``(sparse_dim, n)``."""
    _need_coalesced(self, "indices")
    return _indices(self)


def values(self):
    """The values of a coalesced tensor."""
    _need_coalesced(self, "values")
    return ops.sparse_values(self)


def _need_coalesced(t, name):
    if not is_coalesced(t, name):
        raise RuntimeError(UNCOALESCED.format(name=name))


def _nnz(self):
    """The number of stored elements, including repeated indices."""
    return _array(self, "_nnz").count


def is_coalesced(self, name="is_coalesced"):
    """Whether the indices are unique and sorted."""
    _need_sparse(self, name)
    return self._a.coalesced


def coalesce(self):
    """An equal tensor with unique, sorted indices; elements with equal indices are summed."""
    return self if is_coalesced(self, "coalesce") else ops.coalesce(self)


def _coalesced_(self, coalesced):
    """Promises that the indices are unique and sorted."""
    _need_sparse(self, "_coalesced_")
    self._a.coalesced = bool(coalesced)
    return self


def sparse_dim(self):
    """The number of sparse dimensions; 0 for a dense tensor."""
    return self._a.sparse_dim if self.layout is sparse_coo else 0


def dense_dim(self):
    """The number of dense dimensions; all for a dense tensor."""
    return self._a.ndim - sparse_dim(self)


def sparse_resize_(self, size, sparse_dim, dense_dim):
    """Resizes a sparse tensor, which may only grow."""
    return _resize(self, size, sparse_dim, dense_dim, "sparse_resize_", self._a.count)


def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim):
    """Resizes a sparse tensor and removes its elements."""
    return _resize(self, size, sparse_dim, dense_dim, "sparse_resize_and_clear_", 0)


def _resize(t, size, sparse, dense, name, count):
    _need_sparse(t, name)
    check_writable(t)
    shape, a = nonnegative(shape_from((size,), name=name)), t._a
    if len(shape) != sparse + dense:
        raise RuntimeError(RANK.format(size=len(shape), sparse=sparse, dense=dense))
    if count and (sparse != a.sparse_dim or any(n < m for n, m in zip(shape, a.shape)) or
                  shape[sparse:] != a.shape[sparse:]):
        raise RuntimeError(f"{name}: shrinking, or changing the number of sparse or dense dimensions (from "
                           f"{list(a.shape)} to {list(shape)}) on a non-empty sparse tensor is not supported")

    def fill(own):
        k = own.kernels
        if not count:
            own.indices, own.values = k.zeros((sparse, 0), np.int64), k.zeros((0, *shape[sparse:]), own.dtype)
        own.shape = shape
        return own

    return write(t, name, fill)


# ---- torch.sparse


def mm(mat1, mat2, reduce=None):
    """The product of two matrices, at least one of them sparse; gradients have the layout of their operands."""
    if reduce not in (None, "sum"):
        raise NotImplementedError(f"sparse.mm(): reduce={reduce!r} is not supported, only the sum")
    for t, name, place in ((mat1, "mat1", 1), (mat2, "mat2", 2)):
        if need_tensor(t, "mm", name, place)._a.ndim != 2:
            raise RuntimeError(f"sparse.mm(): {name} must be a matrix, but got {list(t.shape)}")
    if mat1._a.shape[1] != mat2._a.shape[0]:
        (a, b), (c, d) = mat1.shape, mat2.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a}x{b} and {c}x{d})")
    if mat1.layout is mat2.layout is strided:
        return mat1.mm(mat2)
    return ops.sparse_mm(mat1, mat2)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """``beta * mat + alpha * (mat1 @ mat2)``, where ``mat1`` is sparse and the others are dense."""
    return mat * beta + mm(mat1, mat2) * alpha


def sum(input, dim=None, dtype=None):
    """The sum along dimensions; sparse unless all sparse dimensions are summed."""
    _need_sparse(need_tensor(input, "sum"), "sparse.sum")
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        return input.sum()
    dims = dims_in_range(dim if isinstance(dim, (tuple, list)) else (dim,), input._a.ndim)
    return ops.sparse_sum(input, axis=dims, dtype=None)


def softmax(input, dim, *, dtype=None):
    """The softmax along a dimension over the stored elements; the others count as minus infinity."""
    return _of_elements(input, dim, dtype, "softmax")


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of ``softmax``."""
    return _of_elements(input, dim, dtype, "log_softmax")


def _of_elements(input, dim, dtype, name):
    _need_sparse(need_tensor(input, name), f"sparse.{name}")
    x = coalesce(input if dtype is None else input.to(dtype))
    if x.dtype.category != FLOAT:
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_word(x.dtype)}'")
    (dim,) = dims_in_range((dim,), x._a.ndim)
    elements, sparse = values(x), x._a.sparse_dim
    if dim >= sparse:
        return ops.with_values(x, getattr(elements, name)(dim - sparse + 1))
    group, count = _groups(x._a, dim)
    group = wrap(group, x.device)
    rows = group.reshape(-1, *[1] * (elements._a.ndim - 1)).expand_as(elements)
    zeros = elements.new_zeros((count, *elements._a.shape[1:]))
    top = zeros.scatter_reduce(0, rows, elements.detach(), "amax", include_self=False)
    shifted = elements - top[group]
    sums = zeros.index_add(0, group, shifted.exp())[group]
    return ops.with_values(x, shifted.exp() / sums if name == "softmax" else shifted - sums.log())


def _groups(x, dim):
    """For each element, the index of its line along `dim`, and the number of lines."""
    k = x.kernels
    others = [x.indices[d] for d in range(x.sparse_dim) if d != dim]
    key = k.zeros(x.count, np.int64)
    for index, size in zip(others, [n for d, n in enumerate(x.shape[: x.sparse_dim]) if d != dim]):
        key = key * size + index
    lines, group = k.unique(key, return_inverse=True)
    return group.reshape(-1), lines.shape[0]


methods(_coalesced_, _indices, _nnz, _values, coalesce, dense_dim, indices, is_coalesced, sparse_dim, sparse_mask,
        sparse_resize_, sparse_resize_and_clear_, to_dense, to_sparse, to_sparse_coo, values)
