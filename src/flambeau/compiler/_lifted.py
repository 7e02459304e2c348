"""Tensors from outside during tracing, and the slots of Tensor that are watched."""

from __future__ import annotations

import jax
import numpy as np
from jax.extend.core import Primitive

from .._device import resolve
from .._modes import modes
from .._storage import DeviceStorage
from .._tape import Node
from .._tensor import Tensor
from ..engines import engine_of, engine_on
from ..engines._views import ViewArray

OUTER_GRAPH = (
    "{name} cannot be compiled: it needs gradients through a tensor from outside, {tensor}, into the graph that this "
    "comes from, or accesses its place there. Call backward() or grad() after the function, create that tensor inside "
    "the function, or detach() it."
)

XLA = engine_on(resolve("xla"))

program_input = Primitive("program_input")  # `index` is its number
program_input.def_abstract_eval(
    lambda *, index, shape, dtype, weak_type: jax.core.ShapedArray(shape, dtype, weak_type=weak_type))

SLOTS = {name: Tensor.__dict__[name] for name in ("_a", "_grad", "_hooks", "_node")}
slot_a, slot_grad, slot_hooks, slot_node = SLOTS.values()
slot_requires_grad = Tensor.__dict__["_rg"]


NO_HOOKS: tuple = ({}, {}, None)  # gradient hooks, post-accumulate hooks, whether the gradient is retained


class OutsideNode(Node):
    """The node, during tracing, of a tensor that has a history outside."""

    _count = 1
    _hooked = False

    def __init__(self, name, array):
        self._seq = -1
        self._shape, self._dtype = array.shape, array.dtype
        self.message = OUTER_GRAPH.format(name=name, tensor=describe(array))

    @property
    def _edges(self):
        captures = modes.running and modes.running.captures
        if captures and (self, 0) in captures:
            return ()
        raise modes.tracer.refuse(RuntimeError(self.message))

    def name(self):
        raise modes.tracer.refuse(RuntimeError(self.message))


class Lifted:
    """A tensor from outside that has become an input of the program; and its state before."""

    def __init__(self, t, array, index, tracer):
        self.tensor = t
        self.array = array
        self.index = index  # among the inputs
        self.tracer = tracer
        self.current = XLA.with_layout(tracer, engine_of(array).strides_of(array))
        self.device = t._storage.device
        self.is_whole = not chain_of(array)  # whether it covers all of its memory
        self.place = (slot_node.__get__(t), t._nr, t._rg, t._view, t._storage, slot_hooks.__get__(t))
        self.rebound = False  # whether the function has given it other memory (``.data = ...``)
        self.node = self.storage = None  # its node and storage during tracing

    @property
    def is_written(self):
        """Whether the function has changed its elements, or given it other memory."""
        return self.tensor._storage is not self.storage or self.storage.array is not self.tracer

    @property
    def outside_offset(self):
        """The offset of the tensor in its memory outside."""
        *_, storage, _ = self.place
        return storage.offset(self.array)

    def enter(self, name):
        """Replaces the tensor's place in the graph and its memory until the trace ends."""
        t, array = self.tensor, self.array
        if self.place[0] is not None:
            self.node = OutsideNode(name, array)
        self.storage = DeviceStorage(self.current, XLA, self.device)
        self.storage.version, self.storage.inference = t._storage.version, t._storage.inference
        t._node, t._nr, t._view, t._storage = self.node, 0, None, self.storage

    def restore(self):
        t = self.tensor
        t._node, t._nr, t._rg, t._view, t._storage, t._hooks = self.place

    def __str__(self):
        return describe(self.array)


class RandomDraw:
    """Random numbers as an input of the program, drawn before every run in the order of the trace."""

    def __init__(self, kernel, generator, args, kwargs, result):
        self.kernel = kernel
        self.generator = generator
        self.args = args
        self.kwargs = kwargs
        self.fills = bool(args) and args[0] is result  # whether the kernel fills an array that is passed
        self.array = result
        self.is_used = False

    def draw(self):
        args = (np.empty_like(self.array), *self.args[1:]) if self.fills else self.args
        return self.kernel(self.generator, *args, **self.kwargs)


class HooksSnapshot:
    """The hooks of a tensor from outside, as they were before the trace."""

    def __init__(self, t):
        self.tensor = t
        self.own = slot_hooks.__get__(t) if holds(slot_hooks, t) else None
        self.state = hooks_of(t)

    def restore(self):
        self.tensor._hooks = self.own
        if self.own is not None:
            for hooks, before in ((self.own.grad, self.state[0]), (self.own.post_accumulate, self.state[1])):
                hooks.clear()
                hooks.update(before)
            self.own.retain = self.state[2]


def hooks_of(t):
    """The hooks of a tensor, for comparison."""
    hooks = slot_hooks.__get__(t) if holds(slot_hooks, t) else None
    if hooks is None or not (hooks.grad or hooks.post_accumulate or hooks.retain is not None):
        return NO_HOOKS
    return dict(hooks.grad), dict(hooks.post_accumulate), hooks.retain


def is_uniform(array):
    """Whether all elements of an array are identical, including the signs of zeros."""
    if not array.size:
        return False
    items = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return bool((items == items[0]).all())


def chain_of(array):
    """The steps of the view that an array is; () if it is none."""
    return array.chain if type(array) is ViewArray else ()


def describe(array):
    return f"{array.dtype.name}{list(array.shape)}"


def holds(slot, t):
    """Whether a slot has been set."""
    try:
        slot.__get__(t)
    except AttributeError:
        return False
    return True
