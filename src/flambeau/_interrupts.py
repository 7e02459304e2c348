"""Defers interrupts (Ctrl-C and other signals) during updates that must not be left half done."""

import _signal  # type: ignore[import-not-found]  # the signal module takes longer to import
import threading

SIGNALS = [getattr(_signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")
           if hasattr(_signal, name)]  # handlers of these often raise errors


def is_interrupt(error):
    """Whether an error was raised by a signal handler, not by the interrupted code."""
    if isinstance(error, KeyboardInterrupt):
        return True
    handlers = [handler for handler in map(_signal.getsignal, SIGNALS) if callable(handler)]
    codes = {getattr(f, "__code__", None) for handler in handlers for f in (handler, type(handler).__call__)} - {None}
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


class defer_interrupts:
    """A context that defers signal handlers until it exits.

    Python runs them in the main thread between any two bytecode instructions, and they may raise, as Ctrl-C's does.
    """

    __slots__ = ("arrivals", "handlers")

    def __enter__(self):
        self.arrivals, self.handlers = [], []
        if threading.get_ident() == threading.main_thread().ident:
            try:
                for number in SIGNALS:
                    handler = _signal.getsignal(number)
                    if callable(handler):
                        self.handlers.append((number, handler))
                        _signal.signal(number, self.note)
            except BaseException:  # of a handler that should have run before
                self.restore()
                raise

    def note(self, number, frame):
        self.arrivals.append((number, frame))

    def restore(self):
        for number, handler in self.handlers:
            if _signal.getsignal(number) == self.note:
                _signal.signal(number, handler)

    def __exit__(self, *exc):
        self.restore()
        for number, frame in self.arrivals:
            _signal.getsignal(number)(number, frame)
