"""Replacements for the slots of Tensor during tracing."""

from threading import get_ident

from .._device import CPU, META
from .._modes import modes
from ..engines import NUMPY, engine_of
from ._lifted import SLOTS, HooksSnapshot, holds, slot_a, slot_grad, slot_hooks, slot_node
from ._watch import without_profile

ESCAPED = (
    "this tensor was created while {name} was traced to be compiled, and left it without being returned: "
    "it has no elements. Return it from the compiled function, or set it as an attribute of a module."
)


class WatchedSlot:
    """Replaces a slot of Tensor during tracing."""

    def __init__(self, trace):
        self.trace = trace


class WatchedArray(WatchedSlot):
    """Replaces the slot ``Tensor._a``."""

    def __get__(self, t, owner=None):
        if t is None:
            return self
        array, trace = slot_a.__get__(t), self.trace
        if trace.is_paused or get_ident() != trace.thread:
            return array
        key = id(t)
        lifted = trace.lifted.get(key)
        if lifted is not None:
            return lifted.current
        if key in trace.inside:
            return trace.constant(t, array)
        device = CPU if t._storage is None else t._storage.device
        return array if device is META else without_profile(trace.lift)(t, array, device)

    def __set__(self, t, array):
        trace, key = self.trace, id(t)
        if trace.is_active_here():
            if key not in trace.inside and key not in trace.lifted:
                if holds(slot_a, t):
                    self.__get__(t)  # a tensor from outside is lifted before it changes
                else:
                    trace.register_inside(t)
            if engine_of(array) is NUMPY and array.flags.writeable and id(array) not in trace.draws_by_array:
                array = array.view()
                array.flags.writeable = False
            if key in trace.lifted:
                trace.lifted[key].current = array
                return
        slot_a.__set__(t, array)


class WatchedGrad(WatchedSlot):
    """Replaces the slot ``Tensor._grad``."""

    def __get__(self, t, owner=None):
        if t is None:
            return self
        return self.note(t)[2] if self.is_outside(t) else slot_grad.__get__(t)

    def __set__(self, t, grad):
        if self.is_outside(t):
            self.note(t)[2] = grad
        else:
            slot_grad.__set__(t, grad)

    def is_outside(self, t):
        return self.trace.is_active_here() and id(t) not in self.trace.inside and holds(slot_a, t)

    def note(self, t):
        noted = self.trace.grads.get(id(t))
        if noted is None:
            grad = slot_grad.__get__(t)
            noted = self.trace.grads[id(t)] = [t, grad, grad]
            if grad is not None:
                self.trace.watch.note_gradient(grad, t)
        return noted


class WatchedNode(WatchedSlot):
    """Replaces the slot ``Tensor._node``: reading the history of a tensor from outside lifts it."""

    def __get__(self, t, owner=None):
        if t is None:
            return self
        node, trace = slot_node.__get__(t), self.trace
        if node is not None and trace.is_active_here() and id(t) not in trace.inside and id(t) not in trace.lifted:
            without_profile(trace.lift)(t, slot_a.__get__(t), t.device)
            node = slot_node.__get__(t)
        return node

    def __set__(self, t, node):
        slot_node.__set__(t, node)


class WatchedHooks(WatchedSlot):
    """Replaces the slot ``Tensor._hooks``."""

    def __get__(self, t, owner=None):
        if t is None:
            return self
        self.note(t)
        return slot_hooks.__get__(t)

    def __set__(self, t, hooks):
        self.note(t)
        slot_hooks.__set__(t, hooks)

    def note(self, t):
        trace = self.trace
        if trace.is_active_here() and id(t) not in trace.inside and holds(slot_a, t):
            trace.differentiates = trace.differentiates or modes.running is not None
            trace.hooks.setdefault(id(t), HooksSnapshot(t))


WATCHED = dict(zip(SLOTS, (WatchedArray, WatchedGrad, WatchedHooks, WatchedNode), strict=True))


def missing_attribute(watch):
    """What ``Tensor.__getattr__`` is while `watch` hears of attributes that tensors do not have."""

    def __getattr__(t, name):
        watch.on_missing(t)
        raise AttributeError(f"'{type(t).__name__}' object has no attribute '{name}'", name=name, obj=t)

    return __getattr__


class EscapedArray:
    """The array of a tensor that has outlived the trace it was created in."""

    def __init__(self, name):
        self.__dict__["name"] = name

    def __getattr__(self, attribute):
        raise RuntimeError(ESCAPED.format(name=self.__dict__["name"]))
