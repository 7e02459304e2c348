"""Casting of the inputs of functions that autocast handles."""

from __future__ import annotations

import functools

from .._modes import modes


def autocast(name, *inputs):
    """The inputs of the function `name`, cast according to the current autocast context, if any.

    Callers check ``in_use.autocast`` first, so programs without autocast have no overhead.
    """
    casts = modes.autocast
    return inputs if casts is None else casts.inputs_of(name, inputs)


def call_cast(name, op, *inputs):
    """Calls an op with inputs cast for the function `name` by the current autocast context, if any."""
    casts = modes.autocast
    return op(*inputs) if casts is None else casts.call_op(name, op, inputs)


def without_autocast(function):
    """The function, run outside of autocast."""

    @functools.wraps(function, updated=())  # nothing in it may bypass this
    def call(*args, **kwargs):
        casts = modes.autocast
        if casts is None:
            return function(*args, **kwargs)
        modes.set_autocast(None)
        try:
            return function(*args, **kwargs)
        finally:
            modes.set_autocast(casts)

    return call
