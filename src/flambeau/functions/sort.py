"""Sorting, selection by rank, search and distinct values."""

import numpy as np

from .. import _dtypes
from .._dtypes import type_word
from .._tensor import Tensor, wrap
from ..engines import NUMPY
from ..engines.levels import LevelArray
from ..ops import sort as ops
from ..ops._errors import refuse_kinds
from ..ops._promotion import result_dtype
from ._args import as_int, dim_in_range, need_tensor, tensor_on
from ._attach import methods
from ._folds import along, need_flag, numpy_names, one_dim
from ._out import out_variant, same
from ._results import selections
from ._types import typed
from ._wrong_type import wrong_type

__all__ = [
    "argsort", "bucketize", "isin", "kthvalue", "msort", "searchsorted", "sort", "topk", "unique",
    "unique_consecutive",
]

_RESULTS = selections("sort", "topk", "kthvalue")


# ---- sorting


@numpy_names
@out_variant(dtype=same)
def sort(input, dim=-1, descending=False, stable=False):
    """The elements sorted along ``dim``, with their indices. The sort is stable."""
    need_tensor(input, "sort")
    _check_order(input, descending, False if stable is None else stable, "sort")
    axis = dim_in_range(dim, input._a.ndim)
    found = along(ops.sort, input, axis=axis, descending=bool(descending), stable=bool(stable))
    return _RESULTS["sort"](found)


@numpy_names
@out_variant(dtype=same, needs="stable")
def argsort(input, dim=-1, descending=False, stable=...):
    """The indices that sort the input along ``dim``; stable if ``stable``."""
    need_tensor(input, "argsort")
    stable = False if stable is ... else stable
    _check_order(input, descending, stable, "argsort")
    axis = dim_in_range(dim, input._a.ndim)
    return along(ops.argsort, input, axis=axis, descending=bool(descending), stable=bool(stable))


def _check_order(input, descending, stable, name):
    need_flag(descending, name, "descending")
    need_flag(stable, name, "stable")
    if input._a.dtype.kind == "c":
        raise RuntimeError("Sort does not support complex dtypes on CPU")


@out_variant(dtype=same)
def msort(input):
    """The elements sorted along the first dimension."""
    return sort(need_tensor(input, "msort"), 0)[0]


@numpy_names
@out_variant(dtype=same)
def topk(input, k, dim=-1, largest=True, sorted=True):
    """The ``k`` largest (or smallest) elements along ``dim``, with their indices."""
    need_tensor(input, "topk")
    k = as_int(k, "topk", "k")
    need_flag(largest, "topk", "largest")
    need_flag(sorted, "topk", "sorted")
    axis = dim_in_range(dim, input._a.ndim)
    shape = input._a.shape
    if not 0 <= k <= (shape[axis] if shape else 1):
        raise RuntimeError(
            f"selected index k out of range: k={k}, but dimension {dim} of {list(shape)} has fewer elements"
        )
    if input._a.dtype.kind in "bc":
        raise RuntimeError(f"topk does not support {'bool' if input._a.dtype.kind == 'b' else 'complex'} dtypes on CPU")
    count = k if shape else 1  # for a scalar, PyTorch returns its element even if k is 0
    return _RESULTS["topk"](along(ops.topk, input, axis=axis, count=count, largest=largest, sorted=sorted))


@numpy_names
@out_variant(dtype=same)
def kthvalue(input, k, dim=-1, keepdim=False):
    """The ``k``-th smallest element along ``dim``, and its index."""
    need_tensor(input, "kthvalue")
    k = as_int(k, "kthvalue", "k")
    axis = one_dim(input, dim, "kthvalue", keepdim)
    if not 1 <= k <= (input._a.shape[axis] if input._a.ndim else 1):
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {axis}: k={k} of {list(input.shape)}"
        )
    return _RESULTS["kthvalue"](along(ops.kthvalue, input, axis=axis, keepdims=keepdim, kth=k))


# ---- search


@out_variant(dtype=same)
def searchsorted(sorted_sequence, input=None, *, out_int32=False, right=False, side=None, sorter=None, self=None):
    """Where to insert each value in the sorted last dimension of ``sorted_sequence``; ``self`` may be a number."""
    need_tensor(sorted_sequence, "searchsorted", "sorted_sequence")
    input = self if input is None else input
    if input is None:
        raise TypeError("searchsorted() missing 1 required positional argument: 'input'")
    return _search(sorted_sequence, input, out_int32, right, side, sorter, "searchsorted")


@out_variant(dtype=same)
def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The index of the bucket of each value, given sorted ``boundaries``."""
    need_tensor(boundaries, "bucketize", "boundaries", 2)
    if boundaries._a.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries._a.ndim})")
    return _search(boundaries, input, out_int32, right, None, None, "bucketize")


def _search(boundaries, values, out_int32, right, side, sorter, name):
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}(): side and right can't be set to opposites, got side of left while right was True")
    if not isinstance(values, Tensor):
        values = np.asarray(values)  # integers out of the boundaries' range wrap around, as in PyTorch
        values = wrap(values.astype(boundaries._a.dtype) if values.dtype.kind in "biuO" else values)
    b, v = boundaries._a, values._a
    if b.ndim != 1 and (b.ndim == 0 or b.ndim != v.ndim or b.shape[:-1] != v.shape[:-1]):
        raise RuntimeError(
            f"{name}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(b.shape)} and "
            f"input value tensor {list(v.shape)}"
        )
    _check_sorter(sorter, boundaries, name)
    for x in (b, v):
        refuse_kinds(name, x, "c" if b.dtype != v.dtype else "bc")
    to = np.dtype(np.int32 if out_int32 else np.int64)
    return ops.searchsorted(boundaries, values, sorter, right=right or side == "right", dtype=to)


def _check_sorter(sorter, boundaries, name):
    if sorter is None:
        return
    if sorter._a.shape != boundaries._a.shape:
        raise RuntimeError(
            f"{name}(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(boundaries.shape)} and got sorter tensor {list(sorter.shape)}"
        )
    if sorter._a.dtype != np.int64:
        raise RuntimeError(f"{name}(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}")
    if sorter._a.size and not (sorter._a.min() >= 0 and sorter._a.max() < sorter._a.shape[-1]):
        raise RuntimeError(f"{name}(): sorter index out of range")


@out_variant(dtype=same)
def isin(elements=None, test_elements=None, *, assume_unique=False, invert=False, element=None, test_element=None):
    """Whether each of ``elements`` is among ``test_elements``; one of the two may be a number, ``element``."""
    elements = element if elements is None else elements
    test_elements = test_element if test_elements is None else test_elements
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): at least one of elements and test_elements must be a Tensor")
    for position, x in enumerate((elements, test_elements), 1):
        if not isinstance(x, (Tensor, int, float, complex, np.generic)):
            raise wrong_type(x, "Tensor or Number", "isin", ("elements", "test_elements")[position - 1], position)
    arrays = [x._a if isinstance(x, Tensor) else np.asarray(x) for x in (elements, test_elements)]
    for a in arrays:
        if a.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {type_word(_dtypes.from_np(a.dtype))}")
    if any([isinstance(a, LevelArray) for a in arrays]):  # vmap hides the elements
        found = (elements == test_elements if not isinstance(elements, Tensor) or not isinstance(test_elements, Tensor)
                 else (elements.unsqueeze(-1) == test_elements.flatten()).any(-1))
        return ~found if invert else found
    dtype = result_dtype((elements, test_elements)).np
    compared = [NUMPY.widen(a) if dtype in _dtypes.HALF else a for a in (NUMPY.cast(a, dtype) for a in arrays)]
    found = np.asarray(np.isin(*compared, assume_unique=assume_unique, invert=invert))
    return tensor_on(found, (elements if isinstance(elements, Tensor) else test_elements).device)


# ---- distinct values


@typed(sorted=bool, return_inverse=bool, return_counts=bool, dim=int)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The sorted distinct elements, or the distinct slices along ``dim``; NaNs are distinct."""
    need_tensor(input, "unique")
    if dim is None:
        return _select_outputs(ops.unique2(input), return_inverse, return_counts)
    return _select_outputs(ops.unique_dim(input, axis=_axis_of_slices(input, dim)), return_inverse, return_counts)


def _axis_of_slices(input, dim):
    a = input._a
    axis = dim_in_range(dim, a.ndim)
    if a.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if 0 in a.shape[:axis] + a.shape[axis + 1:]:
        fault = ("There are 0 sized dimensions, and they aren't selected" if a.shape[axis]
                 else "Number of zero sized dimensions is more than one")
        raise RuntimeError(f"{fault}, so unique cannot be applied: {list(a.shape)}")
    return axis


@typed(return_inverse=bool, return_counts=bool, dim=int)
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements (or slices along ``dim``) without those equal to their predecessor."""
    need_tensor(input, "unique_consecutive")
    axis = None if dim is None else _axis_of_slices(input, dim)
    return _select_outputs(ops.unique_consecutive(input, axis=axis), return_inverse, return_counts)


def _select_outputs(found, return_inverse, return_counts):
    """The requested parts of a result: a tensor, or a tuple of several."""
    values, inverse, counts = found
    parts = (values, *[inverse] * bool(return_inverse), *[counts] * bool(return_counts))
    return values if len(parts) == 1 else parts


methods(argsort, kthvalue, msort, sort, topk, unique, unique_consecutive)
