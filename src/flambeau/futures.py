"""Futures: results that become available later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]

TWICE = "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."
NOT_YET = "value() of a Future that is not completed: call wait() first, or check done()."
NO_EXCEPTION = "{value!r} is of type {kind}, which is not an Exception."


class Future:
    """A result or exception that is set once, and that others wait for.

    Example::

        >>> future = Future()
        >>> doubled = future.then(lambda done: 2 * done.wait())
        >>> future.set_result(3)
        >>> doubled.wait()
        6
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._lock = threading.Lock()
        self._completed = threading.Event()
        self._callbacks: list[Callable[[Future], Any]] = []
        self._result: Any = None
        self._error: Exception | None = None

    def done(self) -> bool:
        """Whether the future is completed."""
        return self._completed.is_set()

    def wait(self) -> Any:
        """Waits for the result and returns it, or raises the exception."""
        self._completed.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def value(self) -> Any:
        """The result of a completed future."""
        if not self.done():
            raise RuntimeError(NOT_YET)
        return self.wait()

    def set_result(self, result: Any) -> None:
        """Completes the future and runs its callbacks."""
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Completes the future with an exception."""
        if not isinstance(result, Exception):
            raise AssertionError(NO_EXCEPTION.format(value=result, kind=type(result)))
        self._complete(None, result)

    def _complete(self, result, error):
        with self._lock:
            if self.done():
                raise RuntimeError(TWICE)
            self._result, self._error = result, error
            self._completed.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Calls ``callback(self)`` when the future completes, or now if it has."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future for the result of ``callback(self)``."""
        later = Future()

        def run(done):
            try:
                result = callback(done)
            except Exception as error:
                later.set_exception(error)
            else:
                later.set_result(result)

        self.add_done_callback(run)
        return later


def collect_all(futures: list[Future]) -> Future:
    """A future for the list of futures, completed when all of them are."""
    everything, left, lock = Future(), [len(futures)], threading.Lock()

    def one_less(done):
        with lock:
            left[0] -= 1
            complete = left[0] == 0
        if complete:
            everything.set_result(futures)

    if not futures:
        everything.set_result(futures)
    for future in futures:
        future.add_done_callback(one_less)
    return everything


def wait_all(futures: list[Future]) -> list[Any]:
    """Waits for all futures and returns their results."""
    return [future.wait() for future in collect_all(futures).wait()]
