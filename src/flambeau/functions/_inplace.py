"""In-place forms: the same function, its result written into the tensor, its history taken over."""

from __future__ import annotations

import functools
import inspect

from .. import _dtypes
from .._cells import store
from .._dtypes import type_word
from .._modes import modes
from .._size import broadcasts
from .._tensor import Tensor
from ..autograd._writes import check_history, in_graph, snapshot, take_history
from ..engines import engine_of
from ..ops.shape import cast
from ._args import OUT_CAST, bump, check_writable

WRONG_SHAPE = "output with shape {own} doesn't match the broadcast shape {new}"


def inplace(function, name):
    """The method ``name`` that runs `function` on the tensor and stores the result in it."""

    compute = getattr(function, "method", function)  # without out=

    @functools.wraps(function)
    def method(self, *args, **kwargs):
        check_writable(self)
        source = self
        if modes.grad and (in_graph(self) or any_requires_grad(args) or any_requires_grad(kwargs.values())):
            check_history(self)
            source = snapshot(self)
        return assign(self, compute(source, *args, **kwargs), name)

    signature = inspect.signature(function)
    keep = [p for p in signature.parameters.values() if p.name != "out"]
    method.__signature__ = signature.replace(parameters=keep)
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"In-place form of ``{name.rstrip('_')}``: the result replaces the tensor's elements."
    return method


def assign(t, result, name):
    """Stores `result` in the memory of `t`, and puts `t` where the result stands in the graph."""
    own, new = t._a, result._a
    if new.shape != own.shape and not broadcasts(new.shape, own.shape):
        raise RuntimeError(WRONG_SHAPE.format(own=list(own.shape), new=list(new.shape)))
    if new.dtype != own.dtype:
        if not _dtypes.can_cast(result.dtype, t.dtype):
            raise RuntimeError(OUT_CAST.format(result=type_word(result.dtype), out=type_word(t.dtype)))
        result = cast(result, dtype=own.dtype)
    if modes.grad and (result._rg or t._rg):
        check_history(t)
    bump(t, name)
    store(t, engine_of(own).write(own, result._a))
    if modes.grad and (result._rg or t._rg):
        take_history(t, result)
    return t


def any_requires_grad(values):
    """Whether one of the values, or one in a list among them, is a tensor that requires grad."""
    return any(
        v.requires_grad if isinstance(v, Tensor) else isinstance(v, tuple | list) and any_requires_grad(v)
        for v in values
    )
