"""Redirects all calls of a function through another one, including calls through names imported earlier.

``__torch_function__`` and autocast use this, so programs that need neither do not pay for them.
"""

import functools
import types

__all__ = ["intercept", "own_function"]


def own_function(function, name=None):
    """A copy of a function: same body, signature and attributes, optionally with another `name`."""
    own = types.FunctionType(
        function.__code__, function.__globals__, name or function.__name__, function.__defaults__, function.__closure__
    )
    own.__kwdefaults__ = function.__kwdefaults__
    own.__dict__.update(function.__dict__)
    own.__doc__, own.__module__, own.__qualname__ = function.__doc__, function.__module__, function.__qualname__
    return own


ENTRY = """
def make({names}):
    def entry(*args, __call__, **kwargs):
        return __call__(args, kwargs)
        {names}
    return entry
"""


@functools.cache
def entry_code(names):
    """The code of a function whose calls are intercepted, with these names as unused free variables: Python requires as
    many as the closure has.
    """
    space = {}
    exec(compile(ENTRY.format(names=", ".join(names)), __file__, "exec"), space)
    return space["make"](*names).__code__


def intercept(function, make):
    """Replaces the body of `function`: calls become ``make(body)(args, kwargs)``, where `body` is the original."""
    body = own_function(function)
    own = function.__code__
    function.__kwdefaults__ = {"__call__": make(body)}
    function.__code__ = entry_code(own.co_freevars).replace(co_name=own.co_name, co_qualname=own.co_qualname)
    function.__defaults__ = None
    function.__wrapped__ = body  # where its signature is read
