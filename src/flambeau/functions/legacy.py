"""The legacy constructors, ``Tensor(2, 3)``, ``FloatTensor([1, 2])`` and ``range``, and type names."""

import math
import warnings

import numpy as np

from .. import _dtypes
from .._device import CPU, META, resolve, sparse_coo, strided
from .._dtypes import type_word
from .._size import Size
from .._tensor import Tensor, share, take_place, wrap
from ..ops.shape import alias
from ..overrides import new_instance
from ._args import need_tensor, nonnegative, np_dtype_of, shape_from
from ._attach import methods
from ._data import array_from
from ._determinism import determinism, fill_uninitialized
from ._out import out_variant, own, refill
from ._warn import warn_once
from .convert import convert_tensor
from .creation import range_length
from .like import create, number
from .sparse import sparse_coo_tensor
from .storage import is_storage

DEPRECATED = (
    "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
    "torch.set_default_device() as alternatives."
)
RANGE = (
    "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
    "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
)


def legacy_array(args, dtype, device=None, data=None):
    """The tensor of a legacy constructor call: uninitialised for sizes, or the elements of a sequence."""
    if device is not None and resolve(device) is not CPU:
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {device} was passed")
    if data is not None:
        args = (data,)
    if not args:
        return wrap(np.empty(0, dtype))
    first = args[0]
    if (len(args) == 1 and not isinstance(first, (int, np.integer))) or isinstance(first, bool):
        if isinstance(first, Size):
            return _empty(tuple(first), dtype)
        if isinstance(first, Tensor):
            return _alias(first, dtype)
        if is_storage(first):
            return wrap(np.empty(0, dtype)).set_(first)
        if isinstance(first, float | complex | bool | None):
            raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
        return wrap(array_from(first, dtype))
    return _empty(shape_from(args, name="new"), dtype)


def _empty(shape, dtype):
    out = create("new", np.empty, nonnegative(shape), dtype, None, CPU, False)
    return fill_uninitialized(out) if determinism.fills else out


def _alias(t, dtype):
    if dtype is not None and t._a.dtype != dtype:
        raise TypeError(f"expected a tensor of dtype {_dtypes.from_np(dtype)}, got {t.dtype}: convert it with .to()")
    return t.detach()


def _new_tensor(cls, *args, device=None, data=None):
    """``Tensor(2, 3)``: uninitialised; ``Tensor([1, 2])``: elements in the default dtype; ``Tensor(t)``: an alias."""
    given = data if data is not None else args[0] if args else None
    if len(args) <= 1 and isinstance(given, Tensor):
        t = given.detach()
    else:
        t = legacy_array(args, _dtypes.get_default_dtype().np, device, data)
    return t if cls is Tensor else _of_class(cls, t)


Tensor.__new__ = staticmethod(_new_tensor)


def new(self, *args, device=None, size=None, other=None, storage=None):
    """Legacy construction with this tensor's dtype."""
    named = [v for v in (None if size is None else Size(size), other, storage) if v is not None]
    return legacy_array(args or tuple(named), self._a.dtype, device)


def as_subclass(self, cls):
    """A view of the whole tensor as an instance of a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass(): argument 'cls' must be a subclass of Tensor, not {cls!r}")
    return _of_class(cls, alias(self))


def _of_class(cls, t):
    """A tensor without other references, as an instance of another class."""
    out = share(new_instance(cls), t)
    out._view = t._view
    take_place(out, t)
    return out


def _make_subclass(cls, data, require_grad=False):
    """A leaf of a subclass of Tensor that shares the memory of `data`."""
    return _of_class(cls, need_tensor(data, "_make_subclass", "data").detach().requires_grad_(require_grad))


Tensor._make_subclass = staticmethod(_make_subclass)


# ---- types by name


class tensortype(type):
    """The metaclass of FloatTensor and the like: calls create tensors, isinstance checks dtype and layout."""

    is_cuda = False
    is_sparse = property(lambda cls: cls.layout is sparse_coo)

    def __call__(cls, *args, device=None):
        if cls.layout is strided:
            return legacy_array(args, cls.dtype.np, device)
        if any(isinstance(a, Tensor) for a in args):
            return sparse_coo_tensor(*args, dtype=cls.dtype, device=device)
        size = shape_from(args, name=cls.__name__) if args else (0,)
        return sparse_coo_tensor(size=size, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance):
        return (isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.layout is cls.layout
                and instance.device is CPU)


_DTYPES = (_dtypes.float32, _dtypes.float64, _dtypes.float16, _dtypes.bfloat16, _dtypes.int64, _dtypes.int32,
           _dtypes.int16, _dtypes.int8, _dtypes.uint8)


def _classes(module, layout, dtypes):
    """{name: class} of FloatTensor and the like."""
    return {
        f"{type_word(d)}Tensor": tensortype(f"{type_word(d)}Tensor", (), {
            "dtype": d, "layout": layout, "__module__": module, "__doc__": f"Tensors of dtype {d.name}, old style."
        })
        for d in dtypes
    }


TYPES = _classes("torch", strided, (*_DTYPES, _dtypes.bool_))
SPARSE_TYPES = _classes("torch.sparse", sparse_coo, _DTYPES)
globals().update(TYPES)
_BY_NAME = {f"torch.{type_word(d)}Tensor": d for d in _dtypes.ALL}

__all__ = ["range", "set_default_tensor_type", "typename", *TYPES]


def dtype_of_type(t):
    """The dtype for a dtype, a class like FloatTensor, or its name."""
    if isinstance(t, _dtypes.dtype):
        return t
    if isinstance(t, tensortype):
        return t.dtype
    if t is Tensor:
        return _dtypes.get_default_dtype()
    if isinstance(t, str):
        if t in _BY_NAME or f"torch.{t.rpartition('.')[2]}" in _BY_NAME:
            return _BY_NAME[f"torch.{t.rpartition('.')[2]}"]
        raise ValueError(f"invalid type: '{t}'")
    raise TypeError(f"dtype must be a type, str, or dtype object, not {t!r}")


def type_(self, dtype=None, non_blocking=False, **kwargs):
    """The name of the tensor's type, or the tensor converted to a dtype (or a class like FloatTensor, or its name)."""
    if dtype is None:
        place = "meta." if self.device is META else "sparse." if self.layout is sparse_coo else ""
        return f"torch.{place}{type_word(self.dtype)}Tensor"
    return convert_tensor(self, dtype=dtype_of_type(dtype))


def typename(obj, /):
    """The full name of the type of `obj`; for a tensor, its legacy class."""
    if isinstance(obj, Tensor):
        return type_(obj)
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None) or ""
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"


def set_default_tensor_type(t, /):
    """Deprecated: sets the default dtype by a class like DoubleTensor, or its name."""
    dtype = dtype_of_type(t)
    if dtype.category != _dtypes.FLOAT:
        raise TypeError(f"only floating-point types are supported as the default type, got {dtype}")
    warn_once(DEPRECATED)
    _dtypes.set_default_dtype(dtype)


@out_variant(dtype=own, fit=refill)
def range(start, end, step=1, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Deprecated: the numbers from `start` to `end` inclusive; see ``arange``."""
    warnings.warn(RANGE, UserWarning, stacklevel=2)
    given = (start, "start"), (end, "end"), (step, "step")
    start, end, step = (number(value, "range", name, i) for i, (value, name) in enumerate(given, 1))
    range_length(start, end, step, np.float64)  # validates the arguments
    count = math.floor((end - start) / step) + 1
    target = np_dtype_of(dtype)
    if target.kind in "bc":
        raise NotImplementedError(f"\"range_cpu\" not implemented for '{type_word(dtype)}'")

    def make(shape, dtype):
        return (start + step * np.arange(count)).astype(dtype)

    return create("range", make, (count,), target, layout, device, requires_grad)


methods(as_subclass, new, type=type_)
