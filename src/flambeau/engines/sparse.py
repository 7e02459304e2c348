"""The sparse engine: arrays that keep the elements that are not zero, and where they are (PyTorch's layout COO).

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


engine = _Sparse("sparse", None)
register_arrays(engine, SparseArray)


# ---- the interface of engines


@engine.kernel
def device_of(x):
    return x.kernels.device_of(x.values)


@engine.kernel
def is_traced(x):
    return isinstance(x, SparseArray) and x.kernels.is_traced(x.values)


@engine.kernel
def strides_of(x):
    return (0,) * x.ndim


@engine.kernel
def layout_of(x):
    return strides_of(x), 0


@engine.kernel
def is_contiguous(x):
    return False


@engine.kernel
def is_expanded(x):
    return False


@engine.kernel
def is_writable(x):
    return True


@engine.kernel
def as_array(x):
    return x if isinstance(x, SparseArray) else engine_of(x).as_array(x)


@engine.kernel
def cast(x, dtype):
    return x.astype(dtype) if isinstance(x, SparseArray) else engine_of(x).cast(x, dtype)


@engine.kernel
def copy(x):
    k = x.kernels
    return SparseArray(k.copy(x.indices), k.copy(x.values), x.shape, x.coalesced)


@engine.kernel
def copy_as(x, dtype, format=preserve_format):
    return copy(x) if x.dtype == dtype else x.astype(dtype)


@engine.kernel
def copy_like(x, like):
    """A copy of a gradient of `like`; never called for two dense arrays."""
    return copy(x) if isinstance(x, SparseArray) else x.kernels.copy(x)


@engine.kernel
def zeros_like(x):
    return empty(x.shape, x)


@engine.kernel
def write(into, x):
    """Makes the elements of `into`, which others may look at, those of x."""
    if not isinstance(into, SparseArray):
        return engine_of(into).write(into, to_dense(x))
    if not isinstance(x, SparseArray):
        raise MissingKernel("copy of a dense tensor into a sparse one")
    check_alike("copy_", into, x)
    into.indices, into.values, into.coalesced = x.indices, x.values, x.coalesced
    return into


@engine.kernel
def fill(into, value):
    if value != 0:
        raise NotImplementedError(FILL)
    return write(into, zeros_like(into))


@engine.kernel
def accumulate(into, x):
    """Adds x to an array that is ours alone; returns the array that holds the sum."""
    if isinstance(into, SparseArray):
        return write(into, add(into, x))
    check_shapes("add_", into, x)
    k, dims = engine_of(into), tuple(range(x.sparse_dim))
    return k.index_put(into, tuple(x.indices), dims, k.cast(x.values, into.dtype), True, into=True)


# ---- arithmetic


def check_shapes(name, x, y):
    if np.shape(x) != np.shape(y):
        raise RuntimeError(SHAPES.format(name=name, a=list(np.shape(x)), b=list(np.shape(y))))


def check_alike(name, x, y):
    """Raises unless two sparse arrays have the same shape, and as many of its dimensions are sparse."""
    check_shapes(name, x, y)
    if x.sparse_dim != y.sparse_dim:
        raise RuntimeError(SPARSE_DIMS.format(name=name, a=x.sparse_dim, b=y.sparse_dim))


@engine.kernel
def add(x, y):
    if not isinstance(x, SparseArray):
        check_shapes("add", x, y)
        return engine_of(x).index_put(x, tuple(y.indices), tuple(range(y.sparse_dim)), y.values, True)
    if not isinstance(y, SparseArray):
        raise RuntimeError(ADD_DENSE)
    check_alike("add", x, y)
    k = x.kernels
    both = k.concatenate([x.indices, y.indices], axis=1), k.concatenate([x.values, y.values])
    joined = SparseArray(*both, x.shape)
    grows = math.prod(joined.values.shape) > joined.size and not is_traced(joined)
    return coalesce(joined) if grows or (x.coalesced and y.coalesced) else joined


@engine.kernel
def subtract(x, y):
    return add(x, negative(y) if isinstance(y, SparseArray) else y)


@engine.kernel
def multiply(x, y):
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


@engine.kernel
def divide(x, y):
    if not isinstance(x, SparseArray):
        raise MissingKernel("reciprocal")
    if np.ndim(y):
        raise RuntimeError(DIVISOR.format(shape=list(y.shape)))
    return x.with_values(x.kernels.divide(x.values, y))


@engine.kernel
def negative(x):
    return x.with_values(-x.values)


@engine.kernel
def power(x, y):
    if isinstance(y, SparseArray) or np.ndim(y) or y <= 0:
        raise MissingKernel("pow")
    x = coalesce(x)
    return x.with_values(x.kernels.power(x.values, y))


def _operator(name, call):
    setattr(SparseArray, f"__{name}__", lambda self, other: call(self, other))
    setattr(SparseArray, f"__r{name}__", lambda self, other: call(other, self))


for _name, _call in (("add", add), ("sub", subtract), ("mul", multiply), ("truediv", divide)):
    _operator(_name, _call)
setattr(SparseArray, "__neg__", negative)  # noqa: B010  (attached, as the operators above)
setattr(SparseArray, "__pow__", power)  # noqa: B010


def _compare(self, other):
    raise MissingKernel("comparison")


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(SparseArray, f"__{_name}__", _compare)
setattr(SparseArray, "__hash__", object.__hash__)  # noqa: B010


def _keeps_zeros(name):
    """A kernel of one operand that makes zeros of zeros: it is applied to the elements that are kept."""

    def kernel(x):
        x = coalesce(x)
        return x.with_values(getattr(x.kernels, name)(x.values))

    setattr(engine, name, kernel)


for _name in ("abs", "absolute", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil",
              "deg2rad", "erf", "erfinv", "expm1", "floor", "isinf", "isnan", "log1p", "rad2deg", "relu", "rint",
              "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"):
    _keeps_zeros(_name)


# ---- sums and products


@engine.kernel
def total(x):
    return x.kernels.total(x.values)


@engine.kernel
def sum(x, axis=None, keepdims=False, dtype=None):
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


@engine.kernel
def norm2(x, axis, keepdims):
    if axis is not None:
        raise MissingKernel("norm along a dimension")
    return x.kernels.norm2(coalesce(x).values, None, False)


@engine.kernel
def linear(x, weight, bias):
    out = matmul(x, weight.T)
    return out if bias is None else out + bias


@engine.kernel
def matmul(x, y):
    if isinstance(x, SparseArray) and isinstance(y, SparseArray):
        return _sparse_product(x, y)
    if not isinstance(x, SparseArray):
        return matmul(y.swapaxes(0, 1), x.swapaxes(-1, 0)).swapaxes(-1, 0)
    if x.sparse_dim != 2:
        raise MissingKernel("matmul of an array with dense dimensions")
    rows, columns = x.indices
    values = x.values.reshape(-1, *[1] * (y.ndim - 1))
    return x.kernels.unindex(values * y[columns], (rows,), (0,), (x.shape[0], *y.shape[1:]))


def _sparse_product(x, y):
    """Joins each element of x with the row of y that it meets."""
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
