"""Tensors from data: numbers, lists, NumPy arrays, buffers, other libraries' tensors."""

import warnings

import numpy as np

from .. import _dtypes
from .._device import CPU, META, explicit_default, resolve
from .._dtypes import type_word
from .._fp_errors import call_without_fp_warnings
from .._tensor import Tensor, note_shared, wrap
from ..engines import NUMPY
from ._args import np_dtype_of, tensor_on
from ._attach import methods
from ._data import DISCARDS, array_from, check_array, scalar_for
from ._warn import warn_once
from .dlpack import from_dlpack

__all__ = ["as_tensor", "asarray", "from_numpy", "frombuffer", "scalar_tensor", "tensor"]

COPY_CONSTRUCT = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {how}(sourceTensor)."
)
READ_ONLY = (
    "The given {what} is not writable, and tensors have no read-only flag. Writing to this tensor is refused; copy the "
    "{what} (or clone() the tensor) to get one that can be written to."
)
ASARRAY_GRAD = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
    "requires_grad=False explicitly to get the old behavior and silence this warning."
)


def tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of `data`: a number, nested lists of numbers, an array or a tensor.

    Python ints become int64, floats the default dtype, bools bool; NumPy values keep their dtype.

    Example::

        >>> tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
    """
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format(how="torch.tensor"), UserWarning, stacklevel=2)
        return _copy(data, dtype, device, requires_grad)
    return tensor_on(array_from(data, None if dtype is None else np_dtype_of(dtype)), device, requires_grad)


def _copy(source, dtype, device, requires_grad):
    a = source._a
    target = a.dtype if dtype is None else np_dtype_of(dtype)
    device = source.device if device is None else resolve(device)
    if source.device is META and device is CPU:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if a.dtype.kind == "c" and target.kind not in "cb":
        warn_once(DISCARDS, stacklevel=3)
    found = a.astype(target) if source.device is META else call_without_fp_warnings(NUMPY.copy_as, a, target)
    return tensor_on(found, device, requires_grad)


def new_tensor(self, data, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of `data`, by default with this tensor's dtype and device."""
    dtype = self.dtype if dtype is None else dtype
    device = self.device if device is None else device
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format(how="tensor.new_tensor"), UserWarning, stacklevel=2)
        return _copy(data, dtype, device, requires_grad)
    return tensor_on(array_from(data, np_dtype_of(dtype)), device, requires_grad)


def as_tensor(data, dtype=None, device=None):
    """Converts `data` to a tensor, sharing its memory and autograd history if possible."""
    if device is None:
        device = explicit_default()
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    return tensor_on(array_from(data, None if dtype is None else np_dtype_of(dtype)), device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """Converts anything array-like to a tensor.

    Args:
        copy: True always copies, False never does (ValueError if a copy is needed), None copies if needed.
        requires_grad: defaults to that of `obj`.
    """
    if device is None:
        device = explicit_default()
    if isinstance(obj, Tensor):
        return _convert(obj, dtype, device, copy, requires_grad)
    if isinstance(obj, np.generic):
        obj = np.asarray(obj)
    if isinstance(obj, np.ndarray):
        found = from_numpy(obj)
    elif hasattr(obj, "__dlpack__"):
        found = from_dlpack(obj)
    elif not isinstance(obj, (list, tuple)) and _has_buffer(obj):
        found = frombuffer(obj, dtype=dtype or _dtypes.get_default_dtype())
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor: a list's numbers must be copied")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    return _convert(found, dtype, device, copy, requires_grad)


def _convert(t, dtype, device, copy, requires_grad):
    """Converts `t` to the dtype and device, attached to the graph or detached as `requires_grad` requires."""
    if requires_grad is None:
        if t.requires_grad:
            warn_once(ASARRAY_GRAD, stacklevel=3)
        requires_grad = t.requires_grad
    out = t.to(device=device, dtype=dtype, copy=bool(copy))
    if copy is False and out is not t:
        raise ValueError(
            f"can't alias tensor with dtype '{type_word(t.dtype)}' on {t.device} into dtype "
            f"'{type_word(out.dtype)}' on {out.device}."
        )
    if not requires_grad:
        return out.detach() if out.requires_grad else out
    return out if out.requires_grad else out.detach().requires_grad_()


def _has_buffer(obj):
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A zero-dimensional tensor of `dtype`, or else of the default dtype, whatever the type of the number."""
    if isinstance(s, (Tensor, np.generic)) and not getattr(s, "ndim", 0):
        s = s.item()
    if not isinstance(s, (int, float, complex)):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    target = np_dtype_of(dtype)
    return tensor_on(np.array(scalar_for(s, target), target), device, requires_grad)


def from_numpy(ndarray):
    """A tensor that shares memory with a NumPy array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    array = check_array(ndarray).view(np.ndarray)  # its shape and dtype stay, whatever those of `ndarray` become
    if not array.flags.writeable:
        warn_once(READ_ONLY.format(what="NumPy array"))
    return note_shared(wrap(array))


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A one-dimensional tensor that shares memory with an object with Python's buffer interface.

    Args:
        count: the number of elements; negative for all.
        offset: the number of bytes to skip at the start.
    """
    np_dtype = np_dtype_of(dtype)
    try:
        raw = np.frombuffer(buffer, np.uint8)
    except (TypeError, ValueError, AttributeError) as error:
        if _has_buffer(buffer) and not memoryview(buffer).nbytes:
            raw = np.empty(0, np.uint8)
        else:
            raise ValueError(f"object does not implement Python buffer protocol: {error}") from None
    size, item = raw.size, np_dtype.itemsize
    if not size or not count:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count < 0:
        if (size - offset) % item:
            raise ValueError(
                f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element "
                f"size ({item})"
            )
        count = (size - offset) // item
    elif offset + count * item > size:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({size} bytes)"
        )
    if not raw.flags.writeable:
        warn_once(READ_ONLY.format(what="buffer"))
    return note_shared(tensor_on(raw[offset:offset + count * item].view(np_dtype), CPU, requires_grad))


methods(new_tensor)
