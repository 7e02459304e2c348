"""Reading and changing the parameters of Python functions through their code objects.

Python binds positional arguments fastest, so generated functions pass all arguments by position.
"""

import inspect
import types


def parameters_of(function):
    """(positional names, name behind ``*`` or None, keyword-only names); importing inspect would take too long."""
    code = function.__code__
    names, n, m = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    return list(names[:n]), names[n + m] if code.co_flags & inspect.CO_VARARGS else None, list(names[n:n + m])


def by_position(function):
    """The function with all its parameters positional: ``*args`` as a tuple after the keyword-only ones."""
    code, flags = function.__code__, function.__code__.co_flags
    count = code.co_argcount + code.co_kwonlyargcount + bool(flags & inspect.CO_VARARGS)
    if count == code.co_argcount:
        return function
    code = code.replace(co_argcount=count, co_kwonlyargcount=0, co_flags=flags & ~inspect.CO_VARARGS)
    return types.FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


def with_parameters(code, positional, keywords, variadic=None):
    """Code with positional parameters, changed to parameters with these names and kinds."""
    others = code.co_varnames[code.co_argcount :]
    names = (*positional, *keywords, *([variadic] if variadic else []))
    flags = code.co_flags | (inspect.CO_VARARGS if variadic else 0)
    return code.replace(co_argcount=len(positional), co_kwonlyargcount=len(keywords), co_flags=flags,
                        co_varnames=names + others)


def set_name(function, name, doc, module=None):
    """A function that was made inside of another, with a name and a docstring of its own."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = module or function.__module__
    return function
