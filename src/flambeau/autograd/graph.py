"""Public access to the graph: nodes, edges, and saved-tensor hooks."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from typing import NamedTuple

from .._hooks import RemovableHandle
from .._modes import modes
from .._tape import AccumulateGrad, Node, as_node
from .._tensor import Tensor, edge_of
from ._writes import count_write

__all__ = ["AccumulateGrad", "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


class GradientEdge(NamedTuple):
    """An output of a node, as the target of a gradient."""

    node: Node
    output_nr: int
    ownership_token: object = None


def get_gradient_edge(tensor):
    """The edge that the gradient of `tensor` is sent to."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(as_node(edge[0]), max(edge[1], 0))


def increment_version(tensor):
    """Bumps the version of a tensor (or tensors), after a write outside of the library."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        count_write(t, "increment_version")


class saved_tensors_hooks:
    """A context in which tensors saved for backward are passed through ``pack_hook``, and later ``unpack_hook``."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        if modes.saved_hooks_disabled is not None:
            raise RuntimeError(modes.saved_hooks_disabled)
        modes.push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc):
        modes.pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in CPU memory, and moves them back to their device in backward."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.to("cpu", copy=True)), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """A context in which saved-tensor hooks raise `error_message`."""
    before = modes.saved_hooks_disabled
    modes.saved_hooks_disabled = error_message
    try:
        yield
    finally:
        modes.saved_hooks_disabled = before


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """A context in which tensors saved for backward may be modified: they are copied first."""
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        yield


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls `fn` with the gradients of `tensors` once all are computed (or, with ``mode="any"``, with the first)."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    edges = [edge_of(t) for t in tensors]
    if mode == "any":
        first = _FirstGradient(fn)
        return _Handles([t.register_hook(first) for t in tensors if t.requires_grad])
    if None in edges:
        raise AssertionError("Expected gradient function to be set: all of the tensors must require grad")
    gradients = _AllGradients(fn, [weakref.ref(target) for target, _ in edges])
    return _Handles([t.register_hook(functools.partial(gradients, i)) for i, t in enumerate(tensors)])


class _FirstGradient:
    """A hook on several tensors that acts on the first gradient in each backward pass."""

    def __init__(self, fn):
        self.fn = fn
        self.lock = threading.Lock()
        self.passes = weakref.WeakSet()

    def __call__(self, grad):
        with self.lock:
            first = modes.running not in self.passes
            self.passes.add(modes.running)
        if first:
            self.fn(grad)


class _AllGradients:
    """A hook on several tensors (`targets` are their edges) that waits for all their gradients."""

    def __init__(self, fn, targets):
        self.fn = fn
        self.targets = targets
        self.lock = threading.Lock()
        self.passes = weakref.WeakKeyDictionary()  # backward pass -> [number of outstanding calls, gradients]

    def __call__(self, i, grad):
        running = modes.running
        with self.lock:
            if running not in self.passes:
                calls = sum(target() is not None and running.executes(target()) for target in self.targets)
                self.passes[running] = [calls, [None] * len(self.targets)]
            progress = self.passes[running]
            progress[0] -= 1
            progress[1][i] = grad
            if progress[0]:
                return
            del self.passes[running]
        self.fn(progress[1])


class _Handles(RemovableHandle):
    """A single handle for several hooks."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state
