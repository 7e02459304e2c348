"""Argument checks that accept what PyTorch accepts and raise the error types that PyTorch raises."""

import functools
import math
import operator

import numpy as np

from .. import _dtypes
from .._device import CPU, resolve
from .._modes import modes
from .._storage import Storage
from .._tensor import Tensor, device_storage, storage_of, wrap
from ..engines import NUMPY, engine_on
from ._wrong_type import wrong_type

NO_MEMORY = "not enough memory: can't allocate memory for {name}: {cause}"
NOT_DIFFERENTIABLE = (
    "The function '{name}' is not differentiable with respect to argument '{argument}'. This input cannot have "
    "requires_grad True: detach() it."
)
DIM_RANGE = "Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"


def need_tensor(value, name, argument="input", position=1):
    """Raises PyTorch's TypeError unless `value` is a tensor."""
    if not isinstance(value, Tensor):
        raise wrong_type(value, "Tensor", name, argument, position)
    return value


def need_constant(value, name, argument):
    """Raises PyTorch's error for a tensor that requires grad where the function is not differentiable; allows None."""
    if value is not None and value.requires_grad and modes.grad:
        raise RuntimeError(NOT_DIFFERENTIABLE.format(name=name, argument=argument))


def need_tensors(values, name):
    """Converts any sequence of tensors to a tuple; TypeError otherwise."""
    if isinstance(values, Tensor) or not hasattr(values, "__iter__"):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(values).__name__}"
        )
    values = tuple(values)
    for i, v in enumerate(values):
        if not isinstance(v, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(v).__name__}")
    return values


def as_int(value, name, argument, wanted="int"):
    """Converts an int-like value (also NumPy integers and one-element integer tensors) to int."""
    if type(value) is int:
        return value
    if isinstance(value, (bool, float)):
        raise wrong_type(value, wanted, name, argument)
    try:
        return operator.index(value)
    except TypeError:
        raise wrong_type(value, wanted, name, argument) from None


def allocating(function):
    """Decorator for a function that allocates memory: raises PyTorch's RuntimeError when there is not enough."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except (MemoryError, ValueError) as error:  # NumPy raises ValueError for sizes beyond the address space
            raise RuntimeError(NO_MEMORY.format(name=function.__name__, cause=error)) from None

    return call


def as_float(value, name, argument):
    """Converts a real number (also NumPy's) or a 0-dim tensor that does not require grad to float."""
    if isinstance(value, Tensor) and not value._a.ndim and not value.requires_grad:
        value = value.item()
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)
    raise wrong_type(value, "float", name, argument)


def as_number(value, name, argument):
    """Converts a number (also NumPy's) or a 0-dim tensor that does not require grad to a Python number."""
    if type(value) in (int, float):
        return value
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and not value._a.ndim and not value.requires_grad):
        value = value.item()
    if not isinstance(value, (int, float, complex)):
        raise wrong_type(value, "Number", name, argument)
    return value


def dim_in_range(dim, ndim):
    """Wraps a negative dimension; IndexError if out of range. A scalar counts as one-dimensional."""
    n = ndim or 1
    if type(dim) is not int:
        if isinstance(dim, (bool, float)) or not hasattr(dim, "__index__"):
            raise wrong_type(dim, "int", "the function", "dim")
        dim = operator.index(dim)
    if not -n <= dim < n:
        raise IndexError(DIM_RANGE.format(low=-n, high=n - 1, dim=dim))
    return dim + n if dim < 0 else dim


def dims_in_range(dims, ndim):
    """A tuple of distinct non-negative dimensions; None (meaning all) for None and an empty list."""
    if dims is None:
        return None
    if not isinstance(dims, (tuple, list)):
        return (dim_in_range(dims, ndim),)
    if len(dims) == 0:
        return None
    found = tuple(dim_in_range(d, ndim) for d in dims)
    if len(set(found)) != len(found):
        raise RuntimeError(f"dim {max(found, key=found.count)} appears multiple times in the list of dims")
    return found


def axis_of(dims, ndim):
    """Like dims_in_range, for kernels: on a 0-dimensional array every valid axis is ()."""
    found = dims_in_range(dims, ndim)
    return () if found is not None and ndim == 0 else found


def shape_from(size, argument="size", name="the function"):
    """A shape from ``f(2, 3)`` or ``f((2, 3))``; sizes may also be NumPy integers or integer tensors."""
    first = size[0] if len(size) == 1 else 0
    if not isinstance(first, (int, str)) and hasattr(first, "__iter__") and getattr(first, "ndim", 1):
        size = first
    shape = []
    for n in size:
        if type(n) is not int:
            n = as_int(n, name, argument, "tuple of ints")
        shape.append(n)
    return tuple(shape)


def nonnegative(shape):
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def np_dtype_of(dtype, default=None):
    """The NumPy dtype of a flambeau dtype (or of the default dtype)."""
    if dtype is None:
        return (default or _dtypes.get_default_dtype()).np
    if isinstance(dtype, _dtypes.dtype):
        return dtype.np
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype].np
    raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")


_PYTHON_TYPES = {float: _dtypes.float64, int: _dtypes.int64, bool: _dtypes.bool_, complex: _dtypes.complex128}


def tensor_on(array, device=None, requires_grad=False):
    """A new tensor on `device` with the elements of a NumPy array."""
    device = resolve(device)
    t = wrap(array) if device is CPU else wrap(engine_on(device).from_host(array, device), device)
    if requires_grad:
        t.requires_grad = True
    return t


def resize(t, shape, order=None):
    """Resizes a tensor in place, within its storage if that is large enough, otherwise in a new one.

    Other tensors keep the old storage. New elements are uninitialised. `order` lists the dimensions from outermost to
    innermost in memory, if that differs from their numbering.
    """
    storage = storage_of(t)
    engine = storage.engine
    if engine is not NUMPY:
        t._a = engine.resize(t._a, shape)
        move(t, device_storage(t._a, storage.device, storage.version))
        return
    # NumPy does not keep the offset of an empty slice, so an empty tensor must not grow there
    flat, offset = (root_elements(t), t.storage_offset()) if t._a.size else (t._a.reshape(-1), 0)
    need = offset + math.prod(shape)
    if need > flat.size:
        bigger = NUMPY.create(np.zeros, (need,), t._a.dtype, CPU)
        bigger[: flat.size] = flat
        flat = bigger
        move(t, Storage(bigger, storage.version))
    part = flat[offset:need]
    if order is None:
        t._a = part.reshape(shape)
    else:
        t._a = part.reshape([shape[d] for d in order]).transpose(np.argsort(order))


def move(t, storage):
    """Gives `t` alone the storage `storage`, so that it is no longer a view."""
    storage.inference = storage_of(t).inference
    t._storage, t._view = storage, None


def dense_order(t):
    """The dimensions of a tensor from outermost to innermost in memory; None if it has gaps or overlaps."""
    shape, strides = t._a.shape, t.stride()
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    step = 1
    for d in reversed(order):
        if shape[d] != 1:
            if strides[d] != step:
                return None
            step *= shape[d]
    return order


def root_elements(t):
    """The whole storage of a tensor as a flat array of its dtype."""
    root, dtype = storage_of(t).array, t._a.dtype
    if root.dtype == dtype and root.flags.c_contiguous:
        return root.reshape(-1)
    raw = NUMPY.bytes_of(root)
    return raw[: raw.size // dtype.itemsize * dtype.itemsize].view(dtype)
