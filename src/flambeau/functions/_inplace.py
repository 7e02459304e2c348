"""In-place forms: the same function, its result written into the tensor, its history taken over."""

from __future__ import annotations

import functools
import inspect

from .. import _dtypes
from .._cells import store
from .._modes import modes
from .._tape import move_hooks
from .._tensor import LEAF_INPLACE, VIEW_OF_LEAF_INPLACE, Tensor, refresh, replay, wrap
from ..engines import engine_of
from ..ops.move import writing
from ..ops.shape import as_strided, cast
from ._args import OUT_CAST, bump, check_writable, type_word

WRONG_SHAPE = "output with shape {own} doesn't match the broadcast shape {new}"
REFUSED = {
    "multi": "Output {nr} of {node} is a view and is being modified inplace. This view is the output of a function "
             "that returns multiple views. Such functions do not allow the output views to be modified inplace. You "
             "should replace the inplace operation by an out-of-place one.",
    "no_grad": "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that "
               "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
               "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
               "tracked) or both outside (if you want the inplace to be tracked).",
    "custom": "Output {nr} of {node} is a view and is being modified inplace. This view was created inside a custom "
              "Function (or because an input was returned as-is); writing to it would override the custom backward. "
              "Clone the output of the custom Function first.",
    "inference": "A view was created in inference mode and is being modified inplace with grad mode enabled. Clone "
                 "it first, or make the view outside inference mode.",
}


def inplace(function, name):
    """The method ``name`` that runs `function` on the tensor and stores the result in it."""

    @functools.wraps(function)
    def method(self, *args, **kwargs):
        check_writable(self)
        source = self
        if modes.grad and (in_graph(self) or any_requires_grad(args) or any_requires_grad(kwargs.values())):
            check_history(self)
            source = snapshot(self)
        return assign(self, function(source, *args, **kwargs), name)

    signature = inspect.signature(function)
    keep = [p for p in signature.parameters.values() if p.name != "out"]
    method.__signature__ = signature.replace(parameters=keep)
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"In-place form of ``{name.rstrip('_')}``: the result replaces the tensor's elements."
    return method


def in_graph(t):
    """Whether a write to `t` concerns the graph: through itself or through the tensor it is a view of."""
    return t._rg or (t._view is not None and t._view.base._rg)


def assign(t, result, name):
    """Stores `result` in the memory of `t`, and puts `t` where the result stands in the graph."""
    own, new = t._a, result._a
    if new.shape != own.shape:
        try:
            fits = engine_of(own).broadcast_shapes(own.shape, new.shape) == own.shape
        except ValueError:
            fits = False
        if not fits:
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


def check_history(t):
    """Whether a recorded write to `t` is allowed."""
    view = t._view
    if view is None:
        if t._rg and t._node is None:
            raise RuntimeError(LEAF_INPLACE)
        return
    refresh(t)
    if view.origin is not None:
        node = t._node.name() if t._node is not None else "a function"
        raise RuntimeError(REFUSED[view.origin].format(nr=t._nr, node=node))
    if view.base._node is None and (t._rg or view.base._rg):
        raise RuntimeError(VIEW_OF_LEAF_INPLACE)


def take_history(t, result):
    """Makes `t` the tensor that `result` is in the graph; through its base where `t` is a view."""
    view = t._view
    if view is None:
        t._node, t._nr, t._rg = result._node, result._nr, result._rg
        move_hooks(t)
        return
    base = view.base
    before = wrap(base._a)
    before._node, before._nr, before._rg = base._node, base._nr, base._rg
    copy_slices.spec.record((before, result), (base._a, result._a), base._a, base, {"chain": view.chain})
    move_hooks(base)
    version = t._storage.version
    now = replay(base, view.chain)
    t._node, t._nr, t._rg = now._node, now._nr, now._rg
    view.version = version
    move_hooks(t)


def snapshot(t):
    """The tensor as it is now: a copy of its elements at the same place in the graph."""
    copy = wrap(engine_of(t._a).copy(t._a))
    place = t
    if t._view is not None and any(step is as_strided for step, _, _ in t._view.chain):
        place = replay(t._view.base, t._view.chain)  # it may reach elements that the tensor it was taken of has not
    copy._node, copy._nr, copy._rg = place._node, place._nr, place._rg
    return copy


def any_requires_grad(values):
    return any(
        v.requires_grad if isinstance(v, Tensor) else isinstance(v, tuple | list) and any_requires_grad(v)
        for v in values
    )


copy_slices = writing("copy_slices", node="CopySlices")  # what a write to a view means for its base
copy_slices.spec.Node.name = lambda self: "torch::autograd::CopySlices"

__all__ = ["any_requires_grad", "assign", "check_history", "check_writable", "inplace", "take_history"]
