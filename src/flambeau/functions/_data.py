"""Arrays from Python data: infers the dtype of numbers, nested lists, NumPy values and tensors."""

import math
from itertools import chain

import numpy as np

from .. import _dtypes
from .._fp_errors import ignore_fp_errors
from .._tensor import Tensor
from ._warn import warn_once

NEGATIVE_STRIDE = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
    "supported. (You can probably work around this by making a copy of your array with array.copy().)"
)
BYTE_ORDER = (
    "given numpy array has byte order different from the native byte order. Convert it first: "
    "array.astype(array.dtype.newbyteorder('='))"
)
ODD_STRIDE = (
    "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
)
SLOW_LIST = (
    "Creating a tensor from a list of numpy.ndarrays is slow. Please consider converting the list to a single "
    "numpy.ndarray with numpy.array() before converting to a tensor."
)
GRAD_TO_SCALAR = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)
DISCARDS = "Casting complex values to real discards the imaginary part"
OVERFLOW = "value cannot be converted to type {dtype} without overflow: {value}"
_LARGEST = {d.np: _dtypes.finfo(d).max for d in (_dtypes.float32, _dtypes.float16, _dtypes.bfloat16)}
_FLOAT16 = _dtypes.float16.np
LARGEST_HALF = _dtypes.finfo(_dtypes.float16).max
_LARGEST[np.dtype(np.complex64)] = _dtypes.finfo(_dtypes.float32).max
TOO_LONG = "Overflow when unpacking long long: an integer is outside the range of int64; pass a floating dtype"

MAX_DIMS = 128  # of nested sequences, as in PyTorch; stops at lists that contain themselves
_PLAIN = frozenset((bool, int, float, complex))


def array_from(data, dtype=None):
    """A new array with the elements of `data`, in the given NumPy dtype or an inferred one."""
    kind = type(data)
    if kind in _PLAIN:
        return fill_array((), (data,), dtype)
    if isinstance(data, np.ndarray):
        return convert_array(check_array(data), dtype)
    if isinstance(data, np.generic):
        array = np.asarray(data)
        _dtypes.from_np(array.dtype)
        return convert_array(array, dtype)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    if not _is_sequence(data):
        if dtype is None or not hasattr(data, "__float__"):
            raise RuntimeError(f"Could not infer dtype of {kind.__name__}")
        return fill_array((), (data,), dtype)
    return from_sequence(data, dtype)


def convert_array(array, dtype):
    """Copies a NumPy array, cast to `dtype` unless None; emits PyTorch's warnings and suppresses NumPy's."""
    if dtype is None or dtype == array.dtype:
        return array.astype(array.dtype, order="K", subok=False, copy=True)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        warn_once(DISCARDS, stacklevel=4)
        array = array.real
    with ignore_fp_errors():
        return _dtypes.narrow(array, dtype).astype(dtype, order="K", subok=False, copy=True)


def check_array(array):
    """Returns the array if a tensor can share its memory; raises otherwise."""
    found = _dtypes.from_np(array.dtype)
    if array.dtype is not found.np and not array.dtype.isnative:
        raise ValueError(BYTE_ORDER)
    if array.ndim and min(array.strides) < 0:
        raise ValueError(NEGATIVE_STRIDE)
    if any(s % array.itemsize for s in array.strides):
        raise ValueError(ODD_STRIDE)
    return array


def from_sequence(data, dtype):
    """The array of nested sequences."""
    shape = _sizes(data)
    if 0 in shape:
        return np.empty(shape, dtype or _dtypes.get_default_dtype().np)
    level = data
    for dim, length in enumerate(shape):
        if dim:
            if dim == len(shape) - level_rank(level) and isinstance(level[0], np.ndarray):
                return _stack(shape, level, dtype)
            _check_lengths(level, length, dim)
            level = list(chain.from_iterable(level))
    return fill_array(shape, level, dtype)


def level_rank(level):
    """The number of dimensions of the first item, if it is an array."""
    return getattr(level[0], "ndim", 0)


def _is_sequence(x):
    kind = type(x)
    if kind is list or kind is tuple:
        return True
    if isinstance(x, (Tensor, str, bytes, dict, np.generic)) or getattr(x, "ndim", 1) == 0:
        return False
    return hasattr(x, "__len__") and hasattr(x, "__getitem__")


def _sizes(data):
    """The sizes of nested sequences, taken from the first item at each level."""
    shape = []
    while True:
        shape.append(len(data))
        if not shape[-1]:
            return tuple(shape)
        data = data[0]
        if isinstance(data, (str, bytes)) or (len(shape) == MAX_DIMS and _is_sequence(data)):
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not _is_sequence(data):
            return tuple(shape)


def _check_lengths(level, length, dim):
    """Raises unless every item is a sequence as long as the first."""
    try:
        if set(map(len, level)) == {length}:
            return
    except TypeError:
        raise TypeError(f"not a sequence: an item at dim {dim} is a number where the first is a list") from None
    got = next(n for n in map(len, level) if n != length)
    raise ValueError(f"expected sequence of length {length} at dim {dim} (got {got})")


def _stack(shape, arrays, dtype):
    """Stacks lists of NumPy arrays without unpacking them."""
    for a in arrays:
        if not isinstance(a, np.ndarray) or a.shape != arrays[0].shape:
            dim = len(shape) - arrays[0].ndim
            raise ValueError(
                f"expected sequence of length {len(arrays[0])} at dim {dim}: the arrays in the list differ, "
                f"{list(arrays[0].shape)} and {list(np.shape(a))}"
            )
    warn_once(SLOW_LIST, stacklevel=5)
    if dtype is None:
        dtype = _common([_dtypes.from_np(a.dtype) for a in arrays]).np
    if dtype.kind in "iu" and any(a.dtype != dtype for a in arrays):
        return fill_array(shape, np.concatenate(arrays, None).tolist(), dtype)  # checks that each number fits
    return np.stack([convert_array(a, dtype) for a in arrays]).reshape(shape)


def fill_array(shape, values, dtype):
    """An array with the numbers of a flat sequence."""
    kinds = set(map(type, values))
    if not kinds <= _PLAIN:
        values, inferred = _plain(values)
        if dtype is None:
            dtype = inferred
        kinds = set(map(type, values))
    if dtype is None:
        dtype = _infer(kinds)
    with ignore_fp_errors():
        return _pack(values, kinds, dtype).reshape(shape)


def _infer(kinds):
    if complex in kinds:
        return _dtypes.get_default_dtype().to_complex().np
    if float in kinds:
        return _dtypes.get_default_dtype().np
    return _dtypes.int64.np if int in kinds else _dtypes.bool_.np


def _pack(values, kinds, dtype):
    if dtype.kind in "iu":
        return _integers(values, kinds, dtype)
    if complex in kinds and dtype.kind not in "cb":
        raise TypeError("must be real number, not complex")
    if dtype.kind in "fcb" and dtype not in _dtypes.HALF:
        return np.array(values, dtype)
    return np.array(values, np.float32).astype(dtype)


def _integers(values, kinds, dtype):
    """An integer array of numbers. As in PyTorch, negative numbers wrap around in unsigned dtypes."""
    limits = np.iinfo(dtype)
    if complex in kinds:
        raise TypeError("must be real number, not complex")
    if float in kinds:
        values = [_truncate(v, dtype) for v in values]
    try:
        if dtype.itemsize == 8:
            return np.array(values, dtype)
        wide = np.array(values, np.int64)
    except OverflowError:
        if dtype == np.uint64:
            raise
        raise ValueError(TOO_LONG) from None
    low = limits.min if limits.min else -limits.max
    if wide.size and (wide.max() > limits.max or wide.min() < low):
        value = wide.max() if wide.max() > limits.max else wide.min()
        raise RuntimeError(OVERFLOW.format(dtype=_dtypes.from_np(dtype).name, value=value))
    return wide.astype(dtype)


def _truncate(v, dtype):
    """Truncates a float; matters near the limits of an integer dtype."""
    limits = np.iinfo(dtype)
    if not limits.min <= v <= limits.max or not -(2.0**63) <= v < 2.0**63:
        raise RuntimeError(OVERFLOW.format(dtype=_dtypes.from_np(dtype).name, value=v))
    return int(v)


def _plain(values):
    """Converts NumPy scalars and one-element tensors to Python numbers; returns them with their common NumPy dtype."""
    out, dtypes = [], []
    for v in values:
        if isinstance(v, Tensor):
            if v.requires_grad:
                warn_once(GRAD_TO_SCALAR, stacklevel=5)
            if v._a.size != 1:
                raise ValueError("only one element tensors can be converted to Python scalars")
            dtypes.append(v.dtype)
            v = v.item()
        elif isinstance(v, np.generic) or (isinstance(v, np.ndarray) and v.ndim == 0):
            dtypes.append(_dtypes.from_np(v.dtype))
            v = v.item()
        elif type(v) in _PLAIN or isinstance(v, (bool, int, float, complex)):
            dtypes.append(_dtypes.scalar_dtype(v))
        elif _is_sequence(v):
            raise TypeError(f"'{type(v).__name__}' object cannot be interpreted as a number: the nesting is uneven")
        elif isinstance(v, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type(v).__name__}'")
        else:
            raise RuntimeError(f"Could not infer dtype of {type(v).__name__}")
        out.append(v)
    return [v if type(v) in _PLAIN else _as_plain(v) for v in out], _common(dtypes).np


def _as_plain(v):
    return next(kind(v) for kind in (int, float, complex) if isinstance(v, kind))


def _common(dtypes):
    found = dtypes[0]
    for d in set(dtypes[1:]):
        found = _dtypes.promote_types(found, d)
    return found


def _check_fits(value, dtype):
    """Raises if a finite number overflows a floating dtype."""
    largest = _LARGEST.get(dtype)
    if largest is None:
        return
    for part in (value.real, value.imag) if isinstance(value, complex) else (value,):
        if largest < abs(part) != math.inf:
            raise RuntimeError(OVERFLOW.format(dtype=_dtypes.from_np(dtype).name, value=value))


def scalar_for(value, dtype, halves=True):
    """Converts a Python number for storage in a NumPy dtype; RuntimeError if it does not fit.

    Without `halves`, numbers too large for half precision become infinite.
    """
    kind = dtype.kind
    if type(value) is float and kind == "f" and -LARGEST_HALF <= value <= LARGEST_HALF:  # the common case
        return value if dtype is not _FLOAT16 else float(np.float32(value))
    if isinstance(value, int):
        _dtypes.check_int(value)
    if kind == "b":
        return bool(value)
    if isinstance(value, complex) and kind != "c":
        if value.imag:
            raise RuntimeError(OVERFLOW.format(dtype=_dtypes.from_np(dtype).name, value=value))
        value = value.real
    if kind not in "iu":
        if halves or dtype not in _dtypes.HALF:
            _check_fits(value, dtype)
            return float(np.float32(value)) if dtype in _dtypes.HALF else value  # bfloat16 takes no ints
        with ignore_fp_errors():
            return float(np.float32(value).astype(dtype))
    if isinstance(value, float):
        value = _truncate(value, dtype)
    limits = np.iinfo(dtype)
    if not (limits.min or -limits.max) <= value <= limits.max:
        raise RuntimeError(OVERFLOW.format(dtype=_dtypes.from_np(dtype).name, value=value))
    return value if value >= limits.min else value % (limits.max + 1)  # negative numbers wrap around, as in PyTorch
