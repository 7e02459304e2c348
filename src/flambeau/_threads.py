"""Thread-local state, and calls in a new thread that inherit it."""

from __future__ import annotations

import contextvars
import threading

_states: list[threading.local] = []


def per_thread(state):
    """Registers a ``threading.local`` whose values ``call_in_thread`` passes on."""
    _states.append(state)
    return state


def call_in_thread(function):
    """Calls `function` in a new thread, which has an empty stack; returns or raises what it does."""
    context = contextvars.copy_context()
    values = [dict(vars(state)) for state in _states]
    outcome = []

    def work():
        for state, value in zip(_states, values, strict=True):
            vars(state).update(value)
        try:
            outcome.extend((context.run(function), None))
        except BaseException as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=work, name="deep backward", daemon=True)
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result
