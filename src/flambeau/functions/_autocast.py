"""Casts the inputs of functions on autocast's lists."""

import functools

from .._modes import modes


def autocast(name, *inputs):
    """The inputs of the function `name`, cast as the current autocast region requires, if there is one.

    Callers check ``in_use.autocast`` first, so programs without autocast pay nothing.
    """
    casts = modes.autocast
    return inputs if casts is None else casts.inputs_of(name, inputs)


def call_cast(name, op, *inputs):
    """Calls an op on inputs cast as autocast requires for the function `name`."""
    casts = modes.autocast
    return op(*inputs) if casts is None else casts.call_op(name, op, inputs)


def without_autocast(function):
    """The undecorated function, which ignores autocast."""

    @functools.wraps(function, updated=())  # so that no attribute of the function bypasses this wrapper
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
