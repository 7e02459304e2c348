"""Sparse tensors: construction from parts, and conversion to dense ones."""

from .._device import strided
from .._dtypes import int64
from ..engines import _sparse_array as arrays
from ..engines import engine_of
from ..engines.sparse import SparseArray
from ._op import op
from .matmul import mH
from .reduce import spread


@op(node="SparseCooTensorWithDimsAndTensorsBackward0")
def sparse_coo(k, indices, values, *, shape, coalesced):
    """The sparse array with these elements at these indices."""
    return SparseArray(indices, values, shape, coalesced)


sparse_coo.vjp(values=lambda g, indices: elements_at(g, indices))


@op
def elements_at(k, x, indices):
    """The elements of a dense or sparse array at the indices of another."""
    return arrays.elements_at(x, indices)


@op(node="ToDenseBackward0")
def to_dense(k, x):
    return x if k.layout is strided else arrays.to_dense(x)


to_dense.vjp(x=lambda g, x: in_layout_of(g, x))


@op(node="ToSparseBackward0")
def to_sparse(k, x, *, sparse_dim):
    return arrays.from_dense(x, sparse_dim)


to_sparse.vjp(x=lambda g: to_dense(g))


@op
def sparse_mask(k, x, mask):
    """The elements of x at the indices of `mask`."""
    return mask.with_values(arrays.elements_at(x, mask.indices))


sparse_mask.vjp(x=lambda g: to_dense(g))


@op
def coalesce(k, x):
    return arrays.coalesce(x)


coalesce.vjp(x=lambda g: g)


@op(node="ValuesBackward0")
def sparse_values(k, x):
    """The stored elements."""
    return x.values


sparse_values.vjp(x=lambda g, x: with_values(x, g))


@op
def with_values(k, x, values):
    return x.with_values(values)


with_values.vjp(values=lambda g, x: elements_like(g, x))


@op
def elements_like(k, g, x):
    """The elements of g at the indices of x."""
    return arrays.elements_at(g, x.indices)


@op(node="SparseSumBackward0")
def sparse_sum(k, x, *, axis, dtype):
    return k.sum(x, axis=axis, dtype=dtype)


@sparse_sum.joint_vjp
def _(g, x, axis, dtype):
    return (in_layout_of(spread(to_dense(g), tuple(x.shape), axis), x),)


@op(node="SparseAddmmBackward0")
def sparse_mm(k, x, y):
    """The product of two matrices, one of them sparse, whose gradient has the same indices."""
    return k.matmul(x, y)


sparse_mm.vjp(
    x=lambda g, x, y: in_layout_of(sparse_mm(g, mH(y)), x),
    y=lambda g, x, y: in_layout_of(sparse_mm(mH(x), g), y),
)


@op
def in_layout_of(k, g, x):
    """A gradient in the layout of its operand: for a sparse one, at its indices, coalesced."""
    if engine_of(x).layout is strided:
        return g
    x = arrays.coalesce(x)
    return x.with_values(arrays.elements_at(g, x.indices))


@op
def sparse_rows(k, g, index, *, padding, shape):
    """The gradient of the rows at `index` as a sparse gradient of the table; none for the row `padding`."""
    index, g = index.reshape(-1), g.reshape(-1, *shape[1:])
    if padding is not None:
        index, g = k.without_row(index, g, padding)
    return SparseArray(index.reshape(1, -1).astype(int64.np), g, shape)
