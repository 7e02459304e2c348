"""Connecting the outputs of a Function to the graph."""

import warnings

from .. import _tape as tape
from .._dtypes import is_inexact
from .._modes import no_grad
from .._tensor import LEAF_INPLACE, Tensor, leaf_over, wrap
from ..ops.shape import alias
from ._writes import check_history, count_write, take_history

DIRTY_NO_TENSOR = "mark_dirty can only accept variables, but argument is of type {kind}: name the inputs written to"
DIRTY_KEPT = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function: return them."
)
DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor: return the written view alone, or write to a clone of it."
)
DIRTY_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that forward has written to belong "
    "there; others need no mark."
)
SAVED_AS_IS = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
    "override setup_context. Return and save a view of the input instead, for example x.view_as(x), or save it inside "
    "forward."
)


def is_among(t, tensors):
    """Whether `t` is one of `tensors`, by identity."""
    return any(t is other for other in tensors)


class Outputs:
    """The outputs of one call of a Function.

    Args:
        ctx: the node of the call.
        values: what ``forward`` returned, as a list.
        inputs: the arguments of the call.
        recording: whether the call is recorded.
        separate: whether the Function has its own ``setup_context``.
    """

    def __init__(self, ctx, values, inputs, recording, separate):
        self.ctx = ctx
        self.values = values
        self.inputs = inputs
        self.recording = recording
        self.separate = separate

    def connect(self):
        """Connects the outputs to the graph; returns the result of ``apply``."""
        self.count_writes()
        if self.recording:
            tape.start(self.ctx, self.ctx._edges, tuple(v._a if isinstance(v, Tensor) else None for v in self.values))
        connected = [self.connect_one(nr, v) if isinstance(v, Tensor) else v for nr, v in enumerate(self.values)]
        if sum(isinstance(v, Tensor) and self.is_differentiable(v) for v in self.values) > 1:
            for t in connected:
                if isinstance(t, Tensor) and t._view is not None:
                    t._view.origin = "multi"
        if not all(is_among(t, self.values) for t in self.ctx.dirty_tensors):
            raise RuntimeError(DIRTY_KEPT)
        return connected

    def count_writes(self):
        for t in self.ctx.dirty_tensors:
            if not isinstance(t, Tensor):
                raise RuntimeError(DIRTY_NO_TENSOR.format(kind=type(t).__name__))
            count_write(t, type(self.ctx).__name__)

    def is_differentiable(self, t):
        return self.recording and is_inexact(t._a.dtype) and not is_among(t, self.ctx.non_differentiable)

    def connect_one(self, nr, t):
        """Connects the output `t` to the graph."""
        is_input, dirty = is_among(t, self.inputs), is_among(t, self.ctx.dirty_tensors)
        if is_input and not dirty and self.separate and is_among(t, self.ctx.to_save):
            raise RuntimeError(SAVED_AS_IS)
        if not self.is_differentiable(t):
            t = outside_graph(t, is_input, dirty)
        elif dirty:
            if not is_input:
                warnings.warn(DIRTY_NO_INPUT, UserWarning, stacklevel=5)
            self.rebase(t, nr)
        else:
            t = view_of_itself(t) if is_input else t
            if t._view is not None:
                t._view.version = t._storage.version
            t._node, t._nr, t._rg = self.ctx, nr, True
        if t._view is not None and not (is_input and dirty):
            t._view.origin = "custom"
        return t

    def rebase(self, t, nr):
        """Makes the node the history of the tensor that ``forward`` modified."""
        if t.requires_grad and t.is_leaf:
            raise RuntimeError(LEAF_INPLACE)
        if t._view is not None:
            if len(self.values) > 1:
                raise RuntimeError(DIRTY_VIEW)
            check_history(t)
        result = wrap(t._a)
        result._node, result._nr, result._rg = self.ctx, nr, True
        take_history(t, result)
        t._grad = None


def outside_graph(t, is_input, dirty):
    """An output without a gradient."""
    if not t.requires_grad:
        return view_of_itself(t) if is_input and not dirty else t
    if is_input:
        return leaf_over(t)
    if t._view is None:
        t._node, t._nr, t._rg = None, 0, False
    return t


@no_grad()
def view_of_itself(t):
    """A view of an input that was returned unchanged, so that it can have its own place in the graph."""
    return alias(t)
