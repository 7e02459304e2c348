"""Kernels that every engine must have beyond the array library's own names."""

from __future__ import annotations

import contextlib
import contextvars

import numpy as np
from numpy._core import umath

from .. import NUMPY as engine

try:
    # NumPy keeps its floating-point error state in a context variable; setting it costs a tenth of np.errstate.
    set_errors, reset_errors = umath._extobj_contextvar.set, umath._extobj_contextvar.reset
    SILENT: object = umath._make_extobj(all="ignore")
except AttributeError:
    SILENT = "ignore"

    def set_errors(how):
        return np.seterr(all=how)

    def reset_errors(before):
        np.seterr(**before)


@contextlib.contextmanager
def quiet():
    """No floating-point warnings inside."""
    token = set_errors(SILENT)
    try:
        yield
    finally:
        reset_errors(token)


# silently(function, *arguments) calls without floating-point warnings, in a context made for it: that costs a fifth of
# setting the state and setting it back. Only one call at a time can be in the context; see `taken`.
_silence = contextvars.Context()
_silence.run(np.seterr, all="ignore")
silently = _silence.run


def taken(error):
    """Whether a silent call has not begun, because another one (in another thread, say) was not over."""
    return type(error) is RuntimeError and str(error).startswith("cannot enter context")


def hushed(function, *arguments):
    """Calls without floating-point warnings, whoever else does."""
    try:
        return silently(function, *arguments)
    except RuntimeError as error:
        if not taken(error):
            raise
    with quiet():
        return function(*arguments)


@engine.kernel
def cast(x, dtype):
    return x.astype(dtype)


@engine.kernel
def as_array(x):
    return np.asarray(x)


@engine.kernel
def accumulate(into, x):
    """Adds x to an array that is ours alone; returns the array that holds the sum."""
    if into.shape and into.flags.writeable:
        np.add(into, x, out=into, casting="unsafe")
        return into
    return np.asarray(into + x).astype(into.dtype, copy=False)


@engine.kernel
def write(into, x):
    """Stores x in the memory of `into`."""
    np.copyto(into, x, casting="unsafe")
    return into


@engine.kernel
def copy(x):
    """A copy that keeps the order of the dimensions in memory."""
    return np.array(x, order="K", copy=True)


@engine.kernel
def copy_like(x, like):
    """A copy of x that lies in memory as `like` does."""
    out = np.empty_like(like, x.dtype)
    out[...] = x
    return out
