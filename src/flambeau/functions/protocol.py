"""Python protocols of Tensor: conversion to numbers, iteration, printing, NumPy."""

import numpy as np

from .. import _dtypes
from .._device import META, strided
from .._format import format_spec, format_tensor
from .._modes import in_use, modes
from .._tensor import Tensor, leaf_over, note_shared, storage_of, wrap
from ..engines import NUMPY, engine_of, on_host
from ..engines.levels import LevelArray
from ._args import need_tensor
from ._attach import methods
from ._data import GRAD_TO_SCALAR
from ._warn import warn_once

__all__ = ["detach", "detach_", "is_nonzero"]

NUMPY_GRAD = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
NUMPY_META = (
    "can't convert meta device type tensor to numpy: it has no data. Make real memory first, for example with "
    "Tensor.new_empty(..., device='cpu')."
)
NUMPY_SPARSE = "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."
DETACH_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
    "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
    "called on these gradients."
)
NO_DATA = "Cannot copy out of meta tensor; no data!"
ITEM_META = "Tensor.item() cannot be called on meta tensors: they have no data"
AMBIGUOUS = "Boolean value of Tensor with {how} is ambiguous (shape {shape}). Use .any() or .all()."
ONE_ELEMENT = "only one element tensors can be converted to Python scalars"
INTEGER_INDEX = "only integer tensors of a single element can be converted to an index"

_new = object.__new__


# ---- out of the graph


def detach(input):
    """A tensor with the same memory, detached from the graph."""
    if not isinstance(input, Tensor):
        need_tensor(input, "detach")
    return leaf_over(input)


def detach_(input):
    """Detaches the tensor in place: it becomes a leaf."""
    need_tensor(input, "detach_")
    if input._view is not None:
        raise RuntimeError(DETACH_VIEW)
    input._node, input._nr, input._rg = None, 0, False
    return input


# ---- numbers


def item(self):
    """The only element as a Python number."""
    a = self._a
    if a.size != 1:
        raise RuntimeError(f"a Tensor with {a.size} elements cannot be converted to Scalar (shape {list(a.shape)})")
    if engine_of(a) is not NUMPY:
        if self.device is META:
            raise RuntimeError(ITEM_META)
        a = on_host(a, "a Python number (item(), bool(), if, float(), int())")
    return float(a.reshape(())) if _dtypes.is_foreign(a.dtype) else a.item()


def tolist(self):
    """The elements as nested lists of Python numbers; a number for a 0-dim tensor."""
    if self.device is META:
        raise NotImplementedError(NO_DATA)
    a = on_host(self._a, "tolist()")
    return a.astype(np.float32).tolist() if _dtypes.is_foreign(a.dtype) else a.tolist()


def is_nonzero(input):
    """Whether the only element is not zero."""
    if not isinstance(input, Tensor):
        raise TypeError(f"is_nonzero(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    n = input._a.size
    if n != 1:
        how = "more than one value" if n else "no values"
        raise RuntimeError(AMBIGUOUS.format(how=how, shape=list(input._a.shape)))
    if in_use.levels and isinstance(input._a, LevelArray):
        return bool(on_host(input._a, "if"))
    return bool(item(input))


def _scalar(self):
    if self._a.size != 1:
        raise ValueError(f"{ONE_ELEMENT}, got shape {list(self._a.shape)}")
    if self._rg and modes.grad:
        warn_once(GRAD_TO_SCALAR, stacklevel=3)
    return item(self)


def __int__(self):
    value = _scalar(self)
    if isinstance(value, complex):
        raise RuntimeError(f"value cannot be converted to type int64_t without overflow: {value} is complex")
    return int(value)


def __float__(self):
    value = _scalar(self)
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type double without overflow: {value} is complex")
        value = value.real
    return float(value)


def __complex__(self):
    return complex(_scalar(self))


def __index__(self):
    if self._a.size != 1 or _dtypes.is_inexact(self._a.dtype):
        raise TypeError(f"{INTEGER_INDEX}, got {self.dtype} of shape {list(self._a.shape)}")
    return int(item(self))


# ---- a sequence of its rows


def __len__(self):
    if not self._a.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self._a.shape[0]


def __iter__(self):
    if not self._a.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def __reversed__(self):
    """The tensor with its rows in reverse order."""
    return self.flip(0) if self._a.ndim else self


def __contains__(self, element):
    if not isinstance(element, (Tensor, int, float, complex, np.generic)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool((element == self).any().item())


# ---- NumPy


def numpy(self, *, force=False):
    """A NumPy array that shares the tensor's memory.

    A tensor that requires grad needs ``force=True``, unless gradients are disabled.
    """
    if self.layout is not strided:
        raise TypeError(NUMPY_SPARSE)
    if modes.grad and not force and self.requires_grad:
        raise RuntimeError(NUMPY_GRAD)
    if self.device is META:
        raise NotImplementedError(NO_DATA) if force else TypeError(NUMPY_META)
    if _dtypes.is_foreign(self._a.dtype):
        raise TypeError(
            f"Got unsupported ScalarType {self.dtype.name}: NumPy has no such dtype. "
            "Convert it first: tensor.float().numpy()"
        )
    storage_of(self).has_uncounted_writes = True
    note_shared(self)
    return on_host(self._a, "numpy()").view()  # its shape, dtype and flags are the caller's


def __array__(self, dtype=None, copy=None):
    array = numpy(self)
    if dtype is None or array.dtype == dtype:
        return array.copy() if copy else array
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return array.astype(dtype)


def __array_wrap__(self, array, context=None, return_scalar=False):
    array = np.asarray(array)
    return wrap(array.astype(np.uint8) if array.dtype == bool else array)  # bool used to be uint8 in PyTorch


methods(detach, detach_, item, tolist, is_nonzero, numpy, __int__, __float__, __complex__, __index__, __len__,
        __iter__, __reversed__, __contains__, __array__, __array_wrap__, __bool__=is_nonzero, __repr__=format_tensor,
        __format__=format_spec)
