"""In-place forms: the same function, its result written into the tensor, its history taken over."""

from __future__ import annotations

import functools
import inspect

from .._modes import modes
from .._tensor import Tensor
from ..autograd._writes import assign, check_history, check_writable, in_graph, snapshot


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


def any_requires_grad(values):
    """Whether one of the values, or one in a list among them, is a tensor that requires grad."""
    return any(
        v.requires_grad if isinstance(v, Tensor) else isinstance(v, tuple | list) and any_requires_grad(v)
        for v in values
    )
