"""Tensors shaped like another: ``*_like`` and the ``new_*`` methods."""

from functools import partial
from math import prod

import numpy as np

from .._device import CPU, chosen, preserve_format, resolve, strided
from .._dtypes import python_number
from .._layout import check_format, is_contiguous, strides_in
from .._modes import in_use
from .._tensor import Tensor, engine_for, wrap
from ..engines import NUMPY, engine_on
from ..engines.levels import LevelArray
from ._args import need_tensor, nonnegative, np_dtype_of, shape_from
from ._attach import methods
from ._data import scalar_for
from ._determinism import determinism, fill_uninitialized

NO_SPARSE = "{name}(): layout {layout} is not supported, only torch.strided; leave the layout argument out"


# ---- helpers


def create(name, make, shape, dtype, layout, device, requires_grad, *value, strides=None):
    """Creates a tensor by ``make(shape, *value, dtype)``, which returns a NumPy array with the given `strides`."""
    if layout is not None and layout is not strided:
        raise NotImplementedError(NO_SPARSE.format(name=name, layout=layout))
    if (device is None and not chosen.default) or resolve(device) is CPU:
        try:
            t = wrap(make(shape, *value, dtype) if value else make(shape, dtype))
        except (MemoryError, ValueError):
            t = wrap(NUMPY.allocate(make, shape, dtype, *value))  # which says what is wrong
    else:
        device = resolve(device)
        engine = engine_on(device)
        array = engine.create(make, shape, dtype, device, *value)
        t = wrap(array if strides is None else engine.with_layout(array, strides), device)
    if requires_grad:
        t.requires_grad = True
    return t


def shape_of_arguments(name, args, size):
    """The shape from ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""
    if size is not None:
        args = (size,)
    elif not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    first = args[0]
    if type(first) is int and type(prod(args)) is int and min(args) >= 0:  # so that all are ints
        return args
    if type(first) is not int:
        if isinstance(first, Tensor) and first._a.ndim:
            raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not Tensor")
        if isinstance(first, (tuple, list)):
            if len(args) > 1:
                raise TypeError(f"{name}() takes 1 positional argument but {len(args)} were given")
        elif not hasattr(first, "__index__") or isinstance(first, bool):
            raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(first).__name__}")
    return nonnegative(shape_from(args, name=name))


def number(value, name, argument, position):
    """A Python number from a number, a NumPy scalar or a zero-dimensional tensor."""
    if isinstance(value, np.generic):
        return python_number(value)
    if isinstance(value, Tensor) and not value._a.ndim:
        return value.item()
    if not isinstance(value, (int, float, complex)):
        kind = type(value).__name__
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Number, not {kind}")
    return value


# ---- *_like


def _filled(strides, value, shape, dtype):
    """An array with these strides (None: contiguous), of one value (None: uninitialised)."""
    if strides is None:
        out = np.empty(shape, dtype)
    else:
        out = np.ndarray(shape, dtype, strides=tuple([s * dtype.itemsize for s in strides]))
    if value is not None:
        out.fill(scalar_for(value, dtype, halves=out.size != 1))
    return out


def _like(name, input, dtype, layout, device, memory_format, requires_grad, value):
    """An array of `value` (None: uninitialised) with the shape and, by default, everything else of `input`."""
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    a = input._a
    target = a.dtype if dtype is None else np_dtype_of(dtype)
    strides = None
    if memory_format is not None or 1 in a.shape or engine_for(input) is not NUMPY or not NUMPY.is_contiguous(a):
        format = preserve_format if memory_format is None else memory_format
        check_format(format, a.ndim)
        strides = strides_in(a.shape, input.stride(), format)

    if type(value) is int and value == 0 and (strides is None or is_contiguous(a.shape, strides)):
        make = np.zeros
    else:
        make = np.empty if strides is value is None else partial(_filled, strides, value)
    layout = input.layout if layout is None else layout
    t = create(name, make, a.shape, target, layout, input.device if device is None else device, requires_grad,
               strides=strides)
    return a.level.like(a, t) if in_use.levels and isinstance(a, LevelArray) else t


def empty_like(input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
               memory_format=None):
    """An uninitialised tensor of the shape, dtype and memory order of `input`."""
    out = _like("empty_like", input, dtype, layout, device, memory_format, requires_grad, None)
    return fill_uninitialized(out) if determinism.fills else out


def zeros_like(input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
               memory_format=None):
    """Zeros in the shape, dtype and memory order of `input`."""
    return _like("zeros_like", input, dtype, layout, device, memory_format, requires_grad, 0)


def ones_like(input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
              memory_format=None):
    """Ones in the shape, dtype and memory order of `input`."""
    return _like("ones_like", input, dtype, layout, device, memory_format, requires_grad, 1)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
              memory_format=None):
    """A tensor of one value in the shape, dtype and memory order of `input`."""
    value = number(fill_value, "full_like", "fill_value", 2)
    return _like("full_like", input, dtype, layout, device, memory_format, requires_grad, value)


# ---- new_*


def _new(self, name, make, args, size, dtype, layout, device, requires_grad, *value):
    target = self._a.dtype if dtype is None else np_dtype_of(dtype)
    device = self.device if device is None else device
    shape = NUMPY.plain_shape(args) or shape_of_arguments(name, args, size)
    t = create(name, make, shape, target, layout, device, requires_grad, *value)
    return self._a.level.like(self._a, t) if in_use.levels and isinstance(self._a, LevelArray) else t


def new_empty(self, *args, size=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """An uninitialised tensor of this one's dtype and device."""
    out = _new(self, "new_empty", np.empty, args, size, dtype, layout, device, requires_grad)
    return fill_uninitialized(out) if determinism.fills else out


def new_zeros(self, *args, size=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Zeros of this tensor's dtype and device."""
    return _new(self, "new_zeros", np.zeros, args, size, dtype, layout, device, requires_grad)


def new_ones(self, *args, size=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Ones of this tensor's dtype and device."""
    return _new(self, "new_ones", np.ones, args, size, dtype, layout, device, requires_grad)


def new_full(self, size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of one value, of this tensor's dtype and device."""
    target = self._a.dtype if dtype is None else np_dtype_of(dtype)
    shape = shape_of_arguments("new_full", (), size)
    value = scalar_for(number(fill_value, "new_full", "fill_value", 2), target, halves=prod(shape) != 1)
    return _new(self, "new_full", NUMPY.full, (), shape, dtype, layout, device, requires_grad, value)


def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, pin_memory=False,
                      requires_grad=False):
    """An uninitialised tensor with given strides, of this tensor's dtype and device."""
    target = self._a.dtype if dtype is None else np_dtype_of(dtype)
    device = self.device if device is None else device
    make = strided_maker(size, stride)
    shape = nonnegative(shape_from((size,)))
    out = create("new_empty_strided", make, shape, target, layout, device, requires_grad, strides=tuple(stride))
    return fill_uninitialized(out) if determinism.fills else out


def strided_maker(size, stride):
    """Makes an uninitialised array with the given strides, in elements."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(f"strides must not be negative, got sizes={list(size)} and strides={list(stride)}")

    def make(shape, dtype):
        extent = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
        raw = np.empty(max(extent, 1) * dtype.itemsize, np.uint8)
        return np.ndarray(shape, dtype, raw, strides=tuple(s * dtype.itemsize for s in stride))

    return make


methods(new_empty, new_empty_strided, new_full, new_ones, new_zeros)
