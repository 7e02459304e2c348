"""Tensor contractions and vector products."""

import itertools
import math
import warnings

from .._dtypes import HALF, is_inexact
from .._modes import in_use
from .._tensor import Tensor
from ..ops import matmul as ops
from ..ops._errors import refuse_kinds
from ..ops.join import stack
from ..ops.reduce import sum_
from ..ops.shape import permute, reshape, reshape_shared
from ._args import dim_in_range, dims_in_range, need_tensor, need_tensors
from ._attach import methods
from ._autocast import autocast
from ._folds import numpy_names
from ._out import out_variant, same
from .like import ones_like
from .matmul import c_name, differ, refuse_bool, word

__all__ = ["chain_matmul", "cross", "inner", "tensordot"]

CROSS_NO_DIM = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
    "use torch.linalg.cross."
)


@out_variant(dtype=same, aliases="any")
def chain_matmul(*matrices):
    """The product of several matrices, in the cheapest order of multiplication."""
    if len(matrices) == 1 and not isinstance(matrices[0], Tensor):
        matrices = tuple(matrices[0])
    need_tensors(matrices, "chain_matmul")
    if any(m._a.ndim != 2 for m in matrices):
        shapes = ", ".join(str(list(m.shape)) for m in matrices)
        raise RuntimeError(f"chain_matmul(): expected matrices, got the shapes {shapes}")
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)


@out_variant(dtype=same, aliases="any")
def tensordot(a, b, dims=2, out=None):
    """Contracts ``dims``: the last n dimensions of a with the first n of b, or a pair of lists of dimensions."""
    need_tensor(a, "tensordot", "a", 1)
    need_tensor(b, "tensordot", "b", 2)
    left, right = tensordot_dims(a._a, b._a, dims)
    if differ(a._a, b._a):
        raise RuntimeError(f"both inputs should have same dtype, got {word(a._a)} and {word(b._a)}")
    a, left = sum_where_one(a, left, b, right)
    b, right = sum_where_one(b, right, a, left)
    for i, j in zip(left, right, strict=True):
        if a._a.shape[i] != b._a.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a._a.shape[i]} in dim {i} and second has "
                f"size {b._a.shape[j]} in dim {j}"
            )
    return contract(a, b, left, right)


def tensordot_dims(a, b, dims):
    """The dimensions to contract, as two lists of non-negative numbers."""
    if isinstance(dims, Tensor):
        dims = dims._a.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        if len(dims) != 2:
            raise RuntimeError(f"tensordot(): argument 'dims' must be an int or a pair of lists, got {dims!r}")
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    return list(dims_in_range(left, a.ndim) or ()), list(dims_in_range(right, b.ndim) or ())


def sum_where_one(x, own, y, other):
    """x summed (with keepdim) over the contracted dimensions that have size one in y."""
    axes = tuple(i for i, j in zip(own, other, strict=True) if y._a.shape[j] == 1 and x._a.shape[i] != 1)
    return (sum_(x, axis=axes, keepdims=True, dtype=x._a.dtype), own) if axes else (x, own)


def contract(a, b, left, right):
    """Contracts matching dimensions by a single matrix product."""
    if in_use.autocast:
        a, b = autocast("mm", a, b)
    a_shape, b_shape = a._a.shape, b._a.shape
    kept_a = [i for i in range(len(a_shape)) if i not in left]
    kept_b = [j for j in range(len(b_shape)) if j not in right]
    k = math.prod(a_shape[i] for i in left)
    lead = tuple(a_shape[i] for i in kept_a)
    trail = tuple(b_shape[j] for j in kept_b)
    x = reshape_shared(permute(a, axes=(*kept_a, *left)), (math.prod(lead), k))
    y = reshape_shared(permute(b, axes=(*right, *kept_b)), (k, math.prod(trail)))
    refuse_bool(a._a, "addmm_impl_cpu_")
    return reshape(ops.mm(x, y), shape=lead + trail)


@out_variant(dtype=same, aliases="any")
def inner(input, other):
    """The sum of products over the last dimension of both tensors; a scalar multiplies."""
    need_tensor(input, "inner")
    need_tensor(other, "inner", "other", 2)
    a, b = input._a, other._a
    if a.ndim == 0 or b.ndim == 0:
        result = ops.mul(input, other)
    elif a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(a.shape)} and {list(b.shape)}"
        )
    else:
        result = tensordot(input, other, ([-1], [-1]))
    return result


@numpy_names
@out_variant(dtype=same, aliases="none")
def cross(input, other, dim=None):
    """The cross product of three-element vectors along ``dim`` (by default the first dimension of size 3)."""
    need_tensor(input, "cross")
    need_tensor(other, "cross", "other", 2)
    if dim is None:
        dim = next((d for d, n in enumerate(input._a.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError(f"no dimension of size 3 in input, which has the shape {list(input._a.shape)}")
        warnings.warn(CROSS_NO_DIM, UserWarning, stacklevel=2)
    return _cross(input, other, dim=dim)


methods(cross, inner)


# ---- flambeau.linalg


@out_variant(dtype=same, aliases="any")
def multi_dot(tensors):
    """The product of several matrices, in the cheapest order of multiplication; the first and last may be vectors."""
    tensors = need_tensors(tensors, "linalg_multi_dot")
    check_chain(tensors)
    first, last = tensors[0]._a.ndim, tensors[-1]._a.ndim
    matrices = list(tensors)
    if first == 1:
        matrices[0] = ops.row(matrices[0])
    if last == 1:
        matrices[-1] = ops.column(matrices[-1])
    sizes = [matrices[0]._a.shape[0], *(m._a.shape[1] for m in matrices)]
    for i, (left, right) in enumerate(itertools.pairwise(matrices)):
        if left._a.shape[1] != right._a.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i]._a.shape)} and "
                f"{list(tensors[i + 1]._a.shape)} cannot be multiplied"
            )
    result = multiply_chain(matrices, cheapest_splits(sizes), 0, len(matrices) - 1)
    if first == 1 or last == 1:
        result = reshape(result, shape=result._a.shape[first == 1:2 - (last == 1)])
    return result


def check_chain(tensors):
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for i, t in enumerate(tensors):
        if t._a.ndim != 2 and (t._a.ndim != 1 or i not in (0, len(tensors) - 1)):
            ends = {0: "the first tensor must be 1D or 2D", len(tensors) - 1: "the last tensor must be 1D or 2D"}
            raise RuntimeError(f"multi_dot(): {ends.get(i, f'tensor {i} must be 2D')} but got {t._a.ndim}D")
        if differ(t._a, tensors[0]._a):
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {c_name(tensors[0]._a)} and "
                f"tensor {i} {c_name(t._a)}"
            )


def cheapest_splits(sizes):
    """Where to split the product of matrices i..j to minimise the number of multiplications (dynamic programming)."""
    n = len(sizes) - 1
    cost, split = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, m] + cost[m + 1, j] + sizes[i] * sizes[m + 1] * sizes[j + 1], m) for m in range(i, j)
            )
    return split


def multiply_chain(matrices, split, i, j):
    if i == j:
        return autocast("mm", matrices[i])[0]
    m = split[i, j]
    return ops.mm(multiply_chain(matrices, split, i, m), multiply_chain(matrices, split, m + 1, j))


@out_variant(dtype=same, aliases="none")
def _cross(input, other, *, dim=-1):
    """The cross product of three-element vectors along ``dim``."""
    need_tensor(input, "linalg_cross")
    need_tensor(other, "linalg_cross", "other", 2)
    a, b = input._a, other._a
    if a.ndim != b.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions. "
            f"Got the shapes {list(a.shape)} and {list(b.shape)}"
        )
    if a.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = dim_in_range(dim, a.ndim)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[axis]} and {b.shape[axis]}"
        )
    if differ(a, b):
        raise RuntimeError(f"expected scalar type {word(a)} but found {word(b)}")
    refuse_kinds("cross", a, "b")
    return ops.linalg_cross(input, other, axis=axis)


@numpy_names
@out_variant(dtype=same, aliases="any")
def vecdot(x, y, *, dim=-1):
    """The inner products of the vectors along ``dim``, with those of x conjugated."""
    need_tensor(x, "linalg_vecdot", "x")
    need_tensor(y, "linalg_vecdot", "y", 2)
    if differ(x._a, y._a):
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {word(x._a)} and y of type "
            f"{word(y._a)} instead"
        )
    if not is_inexact(x._a.dtype):
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {word(x._a)}")
    pairs = ops.mul(ops.cj(x), y)
    axis = dim_in_range(dim, pairs._a.ndim)
    return sum_(pairs, axis=(axis,) if pairs._a.ndim else (), keepdims=False)


def vander(x, N=None):
    """The powers 0 to N - 1 of each element, as a new last dimension."""
    need_tensor(x, "linalg_vander", "x")
    if x._a.dtype.kind == "b" or x._a.dtype in HALF:
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {word(x._a)}")
    count = N if N is not None else x._a.shape[-1] if x._a.ndim else 0
    if count <= 1:
        raise RuntimeError(f"N must be greater than 1. Got {count}")
    if x._a.ndim == 0:
        x = reshape_shared(x, (1,))
    if x._a.dtype.kind in "iu":
        x = x.long()
    return stack(*powers(x, count), axis=x._a.ndim)


def powers(x, count):
    """The powers of x with exponents 0 to `count` - 1 (at least one)."""
    found = [ones_like(x)]
    while len(found) < count:
        found.append(x if len(found) == 1 else ops.mul(found[-1], x))
    return found
