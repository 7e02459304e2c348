"""Defers interrupts (Ctrl-C and other signals) during updates that must not be left half done."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the signal module takes longer to import
import threading

SIGNALS = [getattr(_signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")
           if hasattr(_signal, name)]  # those whose handlers are known to raise errors


class uninterrupted:
    """A context that defers signal handlers until it exits.

    Python runs them in the main thread between any two bytecode instructions, and they may raise, as Ctrl-C's does.
    """

    __slots__ = ("arrivals", "handlers", "wait")

    def __enter__(self):
        self.arrivals, self.handlers, self.wait = [], [], self.note
        if threading.get_ident() == threading.main_thread().ident:
            try:
                for number in SIGNALS:
                    handler = _signal.getsignal(number)
                    if callable(handler):
                        self.handlers.append((number, handler))
                        _signal.signal(number, self.wait)
            except BaseException:  # of a handler that was to run before
                self.restore()
                raise

    def note(self, number, frame):
        self.arrivals.append((number, frame))

    def restore(self):
        for number, handler in self.handlers:
            if _signal.getsignal(number) is self.wait:
                _signal.signal(number, handler)

    def __exit__(self, *exc):
        self.restore()
        for number, frame in self.arrivals:
            _signal.getsignal(number)(number, frame)
