"""Exceptions: on their way from one process to another, and of functions that are not supported."""

from __future__ import annotations

import sys
import traceback


class KeyErrorMessage(str):
    """A text that a KeyError shows as it is: of other texts it shows the repr, with all lines in one."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """The exception that is being handled, by its type and the text of its traceback.

    Args:
        exc_info: what ``sys.exc_info()`` gives, which is the default.
        where: where the exception was caught, as a part of a sentence.
    """

    def __init__(self, exc_info=None, where="in background"):
        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises an exception of the same type, whose message says where it was caught and shows that traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        try:
            named = getattr(self.exc_type, "message", None)
            exception = self.exc_type(message=message) if named else self.exc_type(message)
        except Exception:  # a constructor that wants other arguments
            raise RuntimeError(message) from None
        raise exception


def unsupported(name, message):
    """A function that raises: `message` says why, of a ``{name}``."""

    def function(*args, **kwargs):
        raise NotImplementedError(message.format(name=name))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Not supported: a call raises."
    return function
