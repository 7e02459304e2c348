"""Ranges under NVTX's names, which the profiler shows like those of ``record_function``."""

import contextlib
import itertools
import threading

from .._threads import per_thread
from ..autograd.profiler import record_function

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


class _Open(threading.local):
    """The open ranges of this thread."""

    def __init__(self):
        self.stack = []


_open = per_thread(_Open())
_started: dict[int, record_function] = {}
_numbers = itertools.count(1)


def range_push(msg):
    """Begins a range inside the current one; returns its depth."""
    _open.stack.append(record_function(msg).__enter__())
    return len(_open.stack) - 1


def range_pop():
    """Ends the current range; returns its depth, or -1 if there is none."""
    if not _open.stack:
        return -1
    _open.stack.pop().__exit__()
    return len(_open.stack)


def range_start(msg):
    """Begins a range that may end in another order; returns its number."""
    number = next(_numbers)
    _started[number] = record_function(msg).__enter__()
    return number


def range_end(range_id):
    """Ends the range of a number from ``range_start``."""
    _started.pop(range_id).__exit__()


def mark(msg):
    """Marks a point in time."""
    with record_function(msg):
        pass


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """A context or decorator that is a range; `msg` is formatted with the other arguments."""
    with record_function(msg.format(*args, **kwargs)):
        yield
