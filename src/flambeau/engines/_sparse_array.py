"""The arrays of the sparse engine: the nonzero elements and their indices."""

import numpy as np

from . import MissingKernel, ShapedArray, engine_of


class SparseArray(ShapedArray):
    """An array given by some elements and their indices; all others are zero.

    Args:
        indices: an integer array (sparse dimensions, n); elements with equal indices are summed.
        values: an array (n, dense dimensions...) of the elements.
        shape: the shape of the whole array.
        coalesced: whether the indices are unique and sorted.
    """

    __slots__ = ("coalesced", "indices", "shape", "values")

    __array_ufunc__ = None  # NumPy's operators defer to this class

    def __init__(self, indices, values, shape, coalesced=False):
        self.indices = indices
        self.values = values
        self.shape = tuple(shape)
        self.coalesced = coalesced

    def __getattr__(self, name):
        raise MissingKernel(f"sparse tensors have no storage, and no {name}; call to_dense() first")

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def nbytes(self):
        return self.indices.nbytes + self.values.nbytes

    @property
    def sparse_dim(self):
        return self.indices.shape[0]

    @property
    def count(self):
        """The number of stored elements."""
        return self.indices.shape[1]

    @property
    def kernels(self):
        """The engine of indices and values."""
        return engine_of(self.values)

    def with_values(self, values):
        """An array with the same indices and other values."""
        return SparseArray(self.indices, values, self.shape[: self.sparse_dim] + values.shape[1:], self.coalesced)

    def astype(self, dtype):
        return self.with_values(self.kernels.cast(self.values, dtype))

    def reshape(self, *shape):
        if shape != self.shape:
            raise MissingKernel("reshape")
        return self

    def transpose(self, axes):
        """Permutes the dimensions; sparse ones stay sparse."""
        n = self.sparse_dim
        if sorted(axes[:n]) != list(range(n)):
            raise MissingKernel("transpose of sparse with dense dimensions")
        values = self.values.transpose((0, *[a - n + 1 for a in axes[n:]]))
        return SparseArray(self.indices[np.asarray(axes[:n])], values, [self.shape[a] for a in axes])

    @property
    def T(self):
        return self.transpose(range(self.ndim)[::-1])

    def swapaxes(self, a, b):
        axes = list(range(self.ndim))
        axes[a], axes[b] = axes[b], axes[a]
        return self.transpose(axes)


# ---- conversion


def keys_of(x):
    """The flat, row-major index of each element."""
    keys = x.indices[0]
    for index, size in zip(x.indices[1:], x.shape[1:]):
        keys = keys * size + index
    return keys


def coalesce(x):
    """The same array with sorted, distinct indices; duplicates are summed."""
    if x.coalesced:
        return x
    k = x.kernels
    if not x.count or not x.sparse_dim:
        total = x.values if x.sparse_dim or not x.count else k.sum(x.values, axis=0, keepdims=True)
        return SparseArray(x.indices[:, :1] if not x.sparse_dim else x.indices, total, x.shape, True)
    keys, places = k.unique(keys_of(x), return_inverse=True)
    values = k.unindex(x.values, (places.reshape(-1),), (0,), (keys.shape[0], *x.values.shape[1:]))
    indices = k.stack(k.unravel_index(keys, x.shape[: x.sparse_dim]))
    return SparseArray(indices.astype(np.int64), values, x.shape, True)


def to_dense(x):
    """The dense array, of the values' engine."""
    if not x.sparse_dim:
        return x.kernels.sum(x.values, axis=0).reshape(x.shape)
    return x.kernels.unindex(x.values, tuple(x.indices), tuple(range(x.sparse_dim)), x.shape)


def from_dense(x, sparse_dim):
    """A sparse array of the nonzero elements (or, with dense dimensions, of slices that are not all zero)."""
    k = engine_of(x)
    kept = x != 0
    for _ in range(x.ndim - sparse_dim):
        kept = kept.any(-1)
    indices = k.stack(k.nonzero(kept)) if sparse_dim else k.zeros((0, 1), np.int64)
    return SparseArray(indices.astype(np.int64), x[tuple(indices)] if sparse_dim else x[None], x.shape, True)


def elements_at(x, indices):
    """The elements of a dense or sparse array at (n, count) indices."""
    if not isinstance(x, SparseArray):
        return x[tuple(indices)]
    x = coalesce(x)
    k = x.kernels
    wanted, keys = keys_of(SparseArray(indices, None, x.shape)), keys_of(x)
    if not x.count:
        return k.zeros((wanted.shape[0], *x.values.shape[1:]), x.dtype)
    places = k.minimum(k.searchsorted(keys, wanted), x.count - 1)
    found = (keys[places] == wanted).reshape(-1, *[1] * (x.values.ndim - 1))
    return k.where(found, x.values[places], k.zeros((), x.dtype))


def empty(shape, like):
    """A sparse array without elements, with as many sparse dimensions as `like`."""
    k, n = like.kernels, like.sparse_dim
    values = k.zeros((0, *shape[n:]), like.dtype)
    return SparseArray(k.zeros((n, 0), np.int64), values, shape, True)
