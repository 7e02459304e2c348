"""What every thread has for itself, and calls in a thread of their own that take it along."""

from __future__ import annotations

import contextvars
import threading

_states: list[threading.local] = []


def per_thread(state):
    """Declares a ``threading.local`` whose values go with a call to another thread."""
    _states.append(state)
    return state


def call_in_thread(function):
    """Calls `function` in a thread of its own, that is with an empty stack, and waits for what it returns or raises."""
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
