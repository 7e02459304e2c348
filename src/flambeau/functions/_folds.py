"""Helpers shared by reductions and sorting functions."""

import functools

import numpy as np

from .._dtypes import from_np, is_inexact, type_word
from .._modes import modes
from .._tensor import Tensor
from ..ops.shape import cast, reshape
from ._args import dim_in_range, np_dtype_of
from ._wrong_type import wrong_type

INT64 = np.dtype(np.int64)
NO_DIM_GIVEN = (
    "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
    "with the 'dim' argument."
)
EMPTY_DIM = "{name}(): Expected reduction dim {dim} to have non-zero size, but the input has shape {shape}."

_NAMES = {"axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input"}


def numpy_names(function):
    """Lets the function accept NumPy's keywords, as in ``x.sum(axis=1, keepdims=True)``."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if kwargs and ("axis" in kwargs or "keepdims" in kwargs):
            kwargs = {_NAMES.get(name, name): value for name, value in kwargs.items()}
        return function(*args, **kwargs)

    if hasattr(function, "method"):  # the variant without out=
        call.method = numpy_names(function.method)
    return call


def by_numpy_names(dim, keepdim, axis, keepdims):
    """(dim, keepdim) of a call with ``axis`` or ``keepdims``; for functions too hot for ``numpy_names``."""
    return (axis if dim is None else dim), (keepdims or keepdim)


def with_sum_dtype(input, dtype):
    """The input and the NumPy dtype to accumulate in: the requested one, else int64 for integers.

    None keeps the dtype. As in PyTorch, an input of a higher category than the dtype is cast first.
    """
    own = input._a.dtype
    if dtype is None:
        return input, (None if is_inexact(own) else INT64)
    dtype = np_dtype_of(dtype)
    if input._rg and modes.grad and not is_inexact(dtype):
        raise RuntimeError(
            f"Autograd not support dtype: {type_word(from_np(dtype))}. Detach the input: they have no gradient"
        )
    lower = is_inexact(dtype) < is_inexact(own) or (own.kind == "c" and dtype.kind != "c")
    return (cast(input, dtype=dtype) if lower else input), dtype


def need_flag(flag, name, argument="keepdim"):
    """Raises unless the flag is a bool; a number is probably a second dimension: ``x.sum(0, 1)``."""
    if not isinstance(flag, (bool, np.bool_)):
        cure = ". Several dims go in a tuple." if argument == "keepdim" else ""
        raise TypeError(f"{name}(): argument {argument!r} must be bool, not {type(flag).__name__}{cure}")


def one_dim(input, dim, name, keepdim=False):
    """Returns the dimension wrapped to be non-negative; raises if it has no elements. Also checks `keepdim`."""
    shape = input._a.shape
    if keepdim is not False and keepdim is not True:
        need_flag(keepdim, name)
    if type(dim) is not int and (isinstance(dim, (bool, tuple, list, str)) or not hasattr(dim, "__index__")):
        raise wrong_type(dim, "int", name, "dim")
    axis = dim_in_range(dim, len(shape))
    if shape and shape[axis] == 0:
        raise IndexError(EMPTY_DIM.format(name=name, dim=axis, shape=list(shape)))
    return axis


def along(call, input, **settings):
    """Calls an op along one axis, treating a scalar as a vector of one element."""
    if input._a.ndim:
        return call(input, **settings)
    found = call(reshape(input, shape=(1,)), **settings)
    if isinstance(found, Tensor):
        return reshape(found, shape=())
    return tuple(reshape(f, shape=()) for f in found)
