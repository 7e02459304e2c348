"""In-place forms that write only the elements they change, where the gradient does not need the others."""

from __future__ import annotations

import functools

from .._modes import modes
from .._tensor import Tensor, refresh, wrap
from ..autograd._writes import at_place_of, check_history, check_writable, take_history, write
from ._out import out_variant, same


def into(t, op, inputs, settings, name, overlap=False):
    """Runs ``op(t, *inputs)`` in the memory of `t`, in which elements may not share a place unless `overlap`.

    The op must have the setting ``into``.
    """
    if t._view is not None:
        refresh(t)
    if not overlap:
        check_writable(t)
    recording = modes.grad and (t._rg or any([isinstance(x, Tensor) and x.requires_grad for x in inputs]))
    if recording:
        check_history(t)
        before = at_place_of(t, t._a)
    used = [t._a, *[x._a if isinstance(x, Tensor) else x for x in inputs]]

    def fill(own):
        nonlocal used
        written, used = op.spec.compute((t, *inputs), used, {**settings, "into": True})
        return written

    write(t, name, fill)
    if recording:
        out = wrap(t._a, t.device)
        op.spec.record((before, *inputs), used, t._a, out, settings)
        take_history(t, out)
    return t


def forms(prepare=None, *, out=True):
    """Makes the public function, with ``out=`` unless told not to, and puts it on Tensor as method and in-place method.

    `prepare` has the signature of the function. It checks the arguments and returns (op, its inputs, its settings);
    the first input is the tensor itself.
    """
    if prepare is None:
        return functools.partial(forms, out=out)
    name = prepare.__name__

    @functools.wraps(prepare)
    def function(*args, **kwargs):
        op, inputs, settings = prepare(*args, **kwargs)
        return op(*inputs, **settings)

    @functools.wraps(prepare)
    def method(self, *args, **kwargs):
        op, inputs, settings = prepare(self, *args, **kwargs)
        return into(self, op, inputs[1:], settings, name + "_")

    method.__name__ = name + "_"
    method.__qualname__ = f"Tensor.{name}_"
    method.__doc__ = f"In-place form of ``{name}``."
    setattr(Tensor, name, function)
    setattr(Tensor, name + "_", method)
    return out_variant(function, dtype=same) if out else function
