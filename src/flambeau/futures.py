"""Results that come later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]

TWICE = "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."
NOT_YET = "value() of a Future that is not completed: call wait() first, or ask done()."
NO_EXCEPTION = "{value!r} is of type {kind}, which is not an Exception."


class Future:
    """A result, or an exception, that somebody sets once and others wait for.

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
        """Whether there is a result or an exception."""
        return self._completed.is_set()

    def wait(self) -> Any:
        """Waits for the result; raises the exception if that is what came."""
        self._completed.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def value(self) -> Any:
        """The result, which must be there."""
        if not self.done():
            raise RuntimeError(NOT_YET)
        return self.wait()

    def set_result(self, result: Any) -> None:
        """Completes the future, and runs what was to run then."""
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Completes the future with an exception, for those who wait."""
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
        """Calls ``callback(self)`` once the future is completed, at once if it is."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future for what ``callback(self)`` returns."""
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
    """The results of all futures, when they are there."""
    return [future.wait() for future in collect_all(futures).wait()]
