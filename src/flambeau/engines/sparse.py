"""The sparse engine: arrays that store only nonzero elements and their indices (PyTorch's layout COO).

A SparseArray consists of arrays of another engine, which computes on them. There are kernels for linear ops and those
that preserve zeros; other ops raise.
"""

import math

import numpy as np

from .._device import preserve_format, sparse_coo
from . import Engine, MissingKernel, engine_of, register_arrays
from ._sparse_array import SparseArray, coalesce, elements_at, empty, from_dense, to_dense

ADD_DENSE = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
DIVISOR = (
    "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor): to_dense() "
    "comes first"
)
SHAPES = "{name}: expected operands of the same size, but got {a} and {b}; sparse ones do not broadcast"
SPARSE_DIMS = "{name}: changing the number of sparse dimensions is not supported, got {a} and {b}"
FILL = "Could not run 'aten::fill_' with arguments from the 'SparseCPU' backend: no element would be zero any more"
MM_SHAPES = "mat1 and mat2 shapes cannot be multiplied ({a} and {b})"


class _Sparse(Engine):
    layout = sparse_coo

    def __getattr__(self, kernel):
        raise MissingKernel(kernel)

    # ---- the interface of engines

    def device_of(self, x):
        return x.kernels.device_of(x.values)

    def is_traced(self, x):
        return isinstance(x, SparseArray) and x.kernels.is_traced(x.values)

    def strides_of(self, x):
        return (0,) * x.ndim

    def layout_of(self, x):
        return self.strides_of(x), 0

    def is_contiguous(self, x):
        return False

    def is_expanded(self, x):
        return False

    def is_writable(self, x):
        return True

    def as_array(self, x):
        return x if isinstance(x, SparseArray) else engine_of(x).as_array(x)

    def cast(self, x, dtype):
        return x.astype(dtype) if isinstance(x, SparseArray) else engine_of(x).cast(x, dtype)

    def copy(self, x):
        k = x.kernels
        return SparseArray(k.copy(x.indices), k.copy(x.values), x.shape, x.coalesced)

    def copy_as(self, x, dtype, format=preserve_format):
        return self.copy(x) if x.dtype == dtype else x.astype(dtype)

    def copy_like(self, x, like):
        """A copy of a gradient of `like`; never called for two dense arrays."""
        return self.copy(x) if isinstance(x, SparseArray) else x.kernels.copy(x)

    def zeros_like(self, x):
        return empty(x.shape, x)

    def write(self, into, x):
        """Stores the elements of x in `into`, which others may refer to."""
        if not isinstance(into, SparseArray):
            return engine_of(into).write(into, to_dense(x))
        if not isinstance(x, SparseArray):
            raise MissingKernel("copy of a dense tensor into a sparse one")
        check_alike("copy_", into, x)
        into.indices, into.values, into.coalesced = x.indices, x.values, x.coalesced
        return into

    def fill(self, into, value):
        if value != 0:
            raise NotImplementedError(FILL)
        return self.write(into, self.zeros_like(into))

    def accumulate(self, into, x):
        """Adds x to an array without other references; returns the array with the sum."""
        if isinstance(into, SparseArray):
            return self.write(into, self.add(into, x))
        check_shapes("add_", into, x)
        k, dims = engine_of(into), tuple(range(x.sparse_dim))
        return k.index_put(into, tuple(x.indices), dims, k.cast(x.values, into.dtype), True, into=True)

    # ---- arithmetic

    def add(self, x, y):
        if not isinstance(x, SparseArray):
            check_shapes("add", x, y)
            return engine_of(x).index_put(x, tuple(y.indices), tuple(range(y.sparse_dim)), y.values, True)
        if not isinstance(y, SparseArray):
            raise RuntimeError(ADD_DENSE)
        check_alike("add", x, y)
        k = x.kernels
        both = k.concatenate([x.indices, y.indices], axis=1), k.concatenate([x.values, y.values])
        joined = SparseArray(*both, x.shape)
        grows = math.prod(joined.values.shape) > joined.size and not self.is_traced(joined)
        return coalesce(joined) if grows or (x.coalesced and y.coalesced) else joined

    def subtract(self, x, y):
        return self.add(x, self.negative(y) if isinstance(y, SparseArray) else y)

    def multiply(self, x, y):
        if not isinstance(x, SparseArray):
            x, y = y, x
        if not isinstance(y, SparseArray):
            if np.ndim(y) == 0:
                return x.with_values(x.kernels.multiply(x.values, y))
            check_shapes("mul", x, y)
        else:
            check_alike("mul", x, y)
            x, y = (y, x) if x.count > y.count else (x, y)
        return x.with_values(x.kernels.multiply(x.values, elements_at(y, x.indices)))

    def divide(self, x, y):
        if not isinstance(x, SparseArray):
            raise MissingKernel("reciprocal")
        if np.ndim(y):
            raise RuntimeError(DIVISOR.format(shape=list(y.shape)))
        return x.with_values(x.kernels.divide(x.values, y))

    def negative(self, x):
        return x.with_values(-x.values)

    def power(self, x, y):
        if isinstance(y, SparseArray) or np.ndim(y) or y <= 0:
            raise MissingKernel("pow")
        x = coalesce(x)
        return x.with_values(x.kernels.power(x.values, y))

    # ---- sums and products

    def total(self, x):
        return x.kernels.total(x.values)

    def sum(self, x, axis=None, keepdims=False, dtype=None):
        if axis is None:
            return x.kernels.sum(x.values, dtype=dtype)
        axes = {a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis)}
        if keepdims:
            raise MissingKernel("sum with keepdim")
        x, n, k = coalesce(x), x.sparse_dim, x.kernels
        values = k.sum(x.values, axis=tuple([a - n + 1 for a in axes if a >= n]), dtype=dtype)
        left = [d for d in range(n) if d not in axes]
        if not left:
            return k.sum(values, axis=0)
        shape = [size for d, size in enumerate(x.shape) if d not in axes]
        return coalesce(SparseArray(x.indices[np.asarray(left)], values, shape))

    def norm2(self, x, axis, keepdims):
        if axis is not None:
            raise MissingKernel("norm along a dimension")
        return x.kernels.norm2(coalesce(x).values, None, False)

    def linear(self, x, weight, bias):
        out = self.matmul(x, weight.T)
        return out if bias is None else out + bias

    def matmul(self, x, y):
        if isinstance(x, SparseArray) and isinstance(y, SparseArray):
            return _sparse_product(x, y)
        if not isinstance(x, SparseArray):
            return self.matmul(y.swapaxes(0, 1), x.swapaxes(-1, 0)).swapaxes(-1, 0)
        if x.sparse_dim != 2:
            raise MissingKernel("matmul of an array with dense dimensions")
        rows, columns = x.indices
        values = x.values.reshape(-1, *[1] * (y.ndim - 1))
        return x.kernels.unindex(values * y[columns], (rows,), (0,), (x.shape[0], *y.shape[1:]))


engine = _Sparse("sparse", None)
register_arrays(engine, SparseArray)


def check_shapes(name, x, y):
    if np.shape(x) != np.shape(y):
        raise RuntimeError(SHAPES.format(name=name, a=list(np.shape(x)), b=list(np.shape(y))))


def check_alike(name, x, y):
    """Raises unless two sparse arrays have the same shape and number of sparse dimensions."""
    check_shapes(name, x, y)
    if x.sparse_dim != y.sparse_dim:
        raise RuntimeError(SPARSE_DIMS.format(name=name, a=x.sparse_dim, b=y.sparse_dim))


def _operator(name, call):
    setattr(SparseArray, f"__{name}__", lambda self, other: call(self, other))
    setattr(SparseArray, f"__r{name}__", lambda self, other: call(other, self))


for _name, _kernel in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide")):
    _operator(_name, getattr(engine, _kernel))
setattr(SparseArray, "__neg__", lambda self: engine.negative(self))  # noqa: B010  (attached, as the operators above)
setattr(SparseArray, "__pow__", lambda self, exponent: engine.power(self, exponent))  # noqa: B010


def _compare(self, other):
    raise MissingKernel("comparison")


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(SparseArray, f"__{_name}__", _compare)
setattr(SparseArray, "__hash__", object.__hash__)  # noqa: B010


def _keeps_zeros(name):
    """Registers a kernel of one operand that maps zeros to zeros: it is applied to the stored elements."""

    def kernel(x):
        x = coalesce(x)
        return x.with_values(getattr(x.kernels, name)(x.values))

    setattr(engine, name, kernel)


for _name in ("abs", "absolute", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil",
              "deg2rad", "erf", "erfinv", "expm1", "floor", "isinf", "isnan", "log1p", "rad2deg", "relu", "rint",
              "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"):
    _keeps_zeros(_name)


def _sparse_product(x, y):
    """Joins each element of x with the matching row of y."""
    if x.sparse_dim != 2 or y.sparse_dim != 2 or x.shape[1] != y.shape[0]:
        raise RuntimeError(MM_SHAPES.format(a=list(x.shape), b=list(y.shape)))
    y, k = coalesce(y), x.kernels
    starts = k.searchsorted(y.indices[0], x.indices[1])
    counts = k.searchsorted(y.indices[0], x.indices[1], side="right") - starts
    left = k.repeat(k.arange(x.count), counts)
    right = k.arange(left.shape[0]) + (starts - (k.cumsum(counts, 0) - counts))[left]
    indices = k.stack([x.indices[0][left], y.indices[1][right]])
    return coalesce(SparseArray(indices, x.values[left] * y.values[right], (x.shape[0], y.shape[1])))


__all__ = ["SparseArray", "coalesce", "elements_at", "engine", "from_dense", "to_dense"]
