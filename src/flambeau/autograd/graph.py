"""The recorded graph, for people: nodes, edges, and hooks on what is saved."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import NamedTuple

from .._hooks import RemovableHandle
from .._modes import modes
from .._tape import AccumulateGrad, Node, as_node
from .._tensor import Tensor, edge_of, storage_of

__all__ = ["AccumulateGrad", "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


class GradientEdge(NamedTuple):
    """An output of a node: where a gradient arrives."""

    node: Node
    output_nr: int
    ownership_token: object = None


def get_gradient_edge(tensor):
    """The edge at which the gradient of `tensor` arrives."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(as_node(edge[0]), max(edge[1], 0))


def increment_version(tensor):
    """Counts a write to the tensor (or tensors) that happened behind the library's back."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        storage = storage_of(t)
        storage.version += 1
        storage.writer = "increment_version"


class saved_tensors_hooks:
    """Inside, every tensor saved for backward goes through ``pack_hook``, and comes back through ``unpack_hook``."""

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
    """Keeps saved tensors in main memory, and brings them back to their device for backward."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.to("cpu", copy=True)), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Inside, saved-tensor hooks are refused with `error_message`."""
    before = modes.saved_hooks_disabled
    modes.saved_hooks_disabled = error_message
    try:
        yield
    finally:
        modes.saved_hooks_disabled = before


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Inside, tensors saved for backward may be written to: what was saved is copied first."""
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        yield


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls `fn` with the gradients of `tensors` once all of them are there (or, ``mode="any"``, with the first)."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    targets = [weakref.ref(edge_of(t)[0]) if t.requires_grad else None for t in tensors]
    lock = threading.Lock()
    seen = weakref.WeakKeyDictionary()  # pass of backward -> [how many gradients are still to come, those that came]

    def collect(i):
        def hook(grad):
            running = modes.running
            with lock:
                first = running not in seen
                if first:
                    others = [target() for nr, target in enumerate(targets) if target is not None and nr != i]
                    seen[running] = [1 + sum(running.awaits(other) for other in others), [None] * len(targets)]
                state = seen[running]
                state[0] -= 1
                state[1][i] = grad
                last = state[0] == 0
                if last:
                    del seen[running]
            if mode == "any" and first:
                fn(grad)
            elif mode == "all" and last:
                fn(state[1])

        return hook

    return _Handles([t.register_hook(collect(i)) for i, t in enumerate(tensors) if t.requires_grad])


class _Handles(RemovableHandle):
    """One handle for several hooks."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state
