"""Writes: when the graph allows one, and where the tensor that was written to stands in it afterwards."""

from __future__ import annotations

from .._tape import move_hooks
from .._tensor import LEAF_INPLACE, VIEW_OF_LEAF_INPLACE, refresh, replay, take_place, wrap
from ..engines import engine_of
from ..ops.move import writing
from ..ops.shape import as_strided

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

copy_slices = writing("copy_slices", node="torch::autograd::CopySlices")  # what a write to a view means for its base


def in_graph(t):
    """Whether a write to `t` concerns the graph: through itself or through the tensor it is a view of."""
    return t._rg or (t._view is not None and t._view.base._rg)


def check_history(t):
    """Raises unless a recorded write to `t` is allowed."""
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
        take_place(t, result)
        move_hooks(t)
        return
    base = view.base
    before = at_place_of(base, base._a)
    copy_slices.spec.record((before, result), (base._a, result._a), base._a, base, {"chain": view.chain})
    move_hooks(base)
    version = t._storage.version
    take_place(t, replay(base, view.chain))
    view.version = version
    move_hooks(t)


def at_place_of(t, array):
    """A tensor over `array` where `t` stands in the graph."""
    other = wrap(array)
    take_place(other, t)
    return other


def snapshot(t):
    """The tensor as it is now: a copy of its elements at the same place in the graph."""
    place = t
    if t._view is not None and any(step is as_strided for step, _, _ in t._view.chain):
        place = replay(t._view.base, t._view.chain)  # it may reach elements that the tensor it was taken of has not
    return at_place_of(place, engine_of(t._a).copy(t._a))
