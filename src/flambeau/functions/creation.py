"""Making tensors: from data, from shapes, from other tensors."""

from __future__ import annotations

import numpy as np

from .. import _dtypes
from .._tensor import Tensor, wrap
from ._args import made, nonnegative, np_dtype_of, shape_from

__all__ = ["from_numpy", "ones", "tensor", "zeros"]


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of `data`: a number, nested lists of numbers, an array or a tensor."""
    if isinstance(data, Tensor):
        array = np.array(data._a)
    else:
        array = np.array(data)
    if dtype is not None:
        array = array.astype(np_dtype_of(dtype))
    elif not hasattr(data, "dtype") and array.dtype == np.float64:
        array = array.astype(_dtypes.get_default_dtype().np)
    return made(array, device, requires_grad)


def from_numpy(ndarray):
    """A tensor over the memory of a NumPy array: each sees what the other writes."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    _dtypes.from_np(ndarray.dtype)
    return wrap(ndarray)


def zeros(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of zeros."""
    return made(np.zeros(nonnegative(shape_from(size)), np_dtype_of(dtype)), device, requires_grad)


def ones(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of ones."""
    return made(np.ones(nonnegative(shape_from(size)), np_dtype_of(dtype)), device, requires_grad)
