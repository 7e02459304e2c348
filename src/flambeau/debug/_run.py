"""Runs a model for inspection and restores its state."""

import contextlib
import functools
import operator

from .._modes import no_grad
from ..random import get_all_states, set_all_states
from ._values import tensors_in

__all__ = ["preserve_state", "scalar_of"]


def scalar_of(output, loss):
    """The root of backward: the loss, or the sum of the model's outputs; None if nothing requires grad."""
    if loss is not None:
        root = loss(output)
        return root if root.requires_grad else None
    parts = [t for t in tensors_in(output) if t.requires_grad]
    sums = [(t.abs() if t.is_complex() else t).sum() for t in parts]
    return functools.reduce(operator.add, sums) if sums else None


@contextlib.contextmanager
def preserve_state(model):
    """A context manager that restores gradients, buffers and the random state."""
    grads = [(p, p.grad) for p in model.parameters()]
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    state = get_all_states()
    for p, _ in grads:
        p.grad = None
    try:
        yield
    finally:
        set_all_states(state)
        for p, grad in grads:
            p.grad = grad
        with no_grad():
            for b, value in buffers:
                b.copy_(value)
