"""PyTorch's TypeErrors for arguments. The function's name is found by inspecting the stack when an error occurs."""

import inspect
import sys

from .._intercept import own_function

PACKAGE = __name__.partition(".")[0]
FUNCTIONS = tuple(f"{PACKAGE}.{name}" for name in ("functions", "nn.functional", "ops", "linalg", "fft", "special"))
BETWEEN = (f"{PACKAGE}._intercept", f"{PACKAGE}.overrides")  # frames of overridable calls
METHOD = "Tensor."  # prefix of the code names of methods
READERS = ("as_int", "shape_from")  # parse sizes for many functions
WRAPPED = ("args", "values", "rest")  # parameter names that wrappers forward


def method_of(function, name):
    """A copy of the function as the method `name`, which its code object is named after."""
    own = own_function(function, name)
    own.__qualname__ = METHOD + name
    own.__code__ = own.__code__.replace(co_qualname=METHOD + name)
    return own


def wrong_type(value, wanted, name, argument, position=None):
    """The TypeError for an argument that does not have the `wanted` type.

    Args:
        name, argument, position: the function, its argument, and the position of that, counted from 1 (without self for
            a method). Without a position, all three are those of the public function that received `value`, if one is
            found on the stack.
    """
    frames = list(frames_of_functions())
    method = next((frame.f_code.co_qualname for frame in reversed(frames) if is_method(frame)), "")
    if position is None:
        places = [place for frame in reversed(frames) if (place := place_of(value, frame))]
        name, argument, position = places[0] if places else (name, argument, None)
    name = method.removeprefix(METHOD) or name
    if method and position is not None and position > 1:
        position -= 1
    where = f" (position {position})" if position else ""
    return TypeError(f"{name}(): argument '{argument}'{where} must be {wanted}, not {type(value).__name__}")


def frames_of_functions():
    """The frames of the current call, from the innermost to the public function."""
    frame = sys._getframe(2)
    while frame is not None and (module := frame.f_globals.get("__name__", "")).startswith(FUNCTIONS + BETWEEN):
        if module not in BETWEEN and frame.f_code.co_name not in READERS:
            yield frame
        frame = frame.f_back


def is_method(frame):
    return frame.f_code.co_qualname.startswith(METHOD)


def place_of(value, frame):
    """(function, argument, position) of a value, or a sequence containing it, among a frame's arguments, or None."""
    positional, keywords = parameters_of(frame.f_code)
    for i, argument in enumerate(positional + keywords):
        got = frame.f_locals.get(argument)
        if got is value or (isinstance(got, (tuple, list)) and any(item is value for item in got)):
            position = i + 1 if i < len(positional) else None
            return (frame.f_code.co_name, argument.rstrip("_"), position) if argument not in WRAPPED else None
    return None


def parameters_of(code):
    """The names of the positional parameters, including ``*args``, and of the keyword-only ones."""
    names, count = code.co_varnames, code.co_argcount
    end = count + code.co_kwonlyargcount
    starred = names[end : end + 1] if code.co_flags & inspect.CO_VARARGS else ()
    return names[:count] + starred, names[count:end]
