"""Has the calls of a function pass through another one, whoever makes them and by whatever name they know it.

What comes so before a function, as ``__torch_function__`` and autocast do, few programs need: the others do not pay.
"""

from __future__ import annotations

import functools
import types

__all__ = ["intercept", "own_function"]


def own_function(function, name=None):
    """Another function of the same body, signature and attributes, which may have a `name` of its own."""
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
    """The code of a function whose calls are intercepted, with free variables of these names, which it does not read:
    Python wants as many as the closure has.
    """
    space = {}
    exec(compile(ENTRY.format(names=", ".join(names)), __file__, "exec"), space)
    return space["make"](*names).__code__


def intercept(function, make):
    """Gives `function` another body: its calls become ``make(body)(args, kwargs)``, where `body` does what it did."""
    body = own_function(function)
    own = function.__code__
    function.__kwdefaults__ = {"__call__": make(body)}
    function.__code__ = entry_code(own.co_freevars).replace(co_name=own.co_name, co_qualname=own.co_qualname)
    function.__defaults__ = None
    function.__wrapped__ = body  # where its signature is read
