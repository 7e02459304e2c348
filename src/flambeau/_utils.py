"""Exceptions passed between processes, and those of unsupported functions."""

import sys
import traceback
import types

from ._signatures import set_name


class KeyErrorMessage(str):
    """A message that a KeyError shows verbatim: it shows the repr of ordinary strings, which escapes line breaks."""

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
        """Raises an exception of the same type, whose message has the place and the traceback of the original."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        try:
            named = getattr(self.exc_type, "message", None)
            exception = self.exc_type(message=message) if named else self.exc_type(message)
        except Exception:  # its constructor takes other arguments
            raise RuntimeError(message) from None
        raise exception


def unsupported_function(name, message):
    """A function that raises with `message`, which has a placeholder ``{name}``."""

    def function(*args, **kwargs):
        raise NotImplementedError(message.format(name=name))

    return set_name(function, name, "Not supported: a call raises.")


def name_constructors(namespace):
    """Gives public classes that share the ``__init__`` of another one copies of their own, for errors to name them."""
    public = {cls for name, cls in namespace.items() if isinstance(cls, type) and not name.startswith("_")}
    for cls in public:
        owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
        if owner not in public and isinstance(init := vars(owner)["__init__"], types.FunctionType):
            cls.__init__ = own = types.FunctionType(
                init.__code__, init.__globals__, init.__name__, init.__defaults__, init.__closure__
            )
            own.__dict__.update(init.__dict__)
            for attribute in ("__annotations__", "__doc__", "__kwdefaults__", "__module__"):
                setattr(own, attribute, getattr(init, attribute))
            own.__qualname__ = f"{cls.__qualname__}.__init__"
