"""What a function does first that autocast knows: it has its inputs cast."""

from __future__ import annotations

import functools

from .._modes import modes


def autocast(name, *inputs):
    """The inputs of the function `name` as the region of autocast wants them in which this is called, if it is in one.

    Callers ask ``in_use.autocast`` first, which costs a program without autocast nothing.
    """
    casts = modes.autocast
    return inputs if casts is None else casts.inputs_of(name, inputs)


def call_cast(name, op, *inputs):
    """An op on inputs as the region of autocast, if there is one, wants them for the function `name`."""
    casts = modes.autocast
    return op(*inputs) if casts is None else casts.call_op(name, op, inputs)


def without_autocast(function):
    """The function as it is outside of all regions."""

    @functools.wraps(function, updated=())  # nothing of it may be called past this
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
