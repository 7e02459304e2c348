"""Suppresses NumPy's floating-point warnings, which PyTorch does not issue, as cheaply as possible."""

from __future__ import annotations

import contextlib
import contextvars

import numpy as np
from numpy._core import umath

try:
    # NumPy keeps its floating-point error state in a context variable; setting it costs a tenth of np.errstate.
    set_errors, reset_errors = umath._extobj_contextvar.set, umath._extobj_contextvar.reset
    IGNORED: object = umath._make_extobj(all="ignore")
except AttributeError:
    IGNORED = "ignore"

    def set_errors(how):
        return np.seterr(all=how)

    def reset_errors(before):
        np.seterr(**before)


@contextlib.contextmanager
def ignore_fp_errors():
    """A context without floating-point warnings."""
    token = set_errors(IGNORED)
    try:
        yield
    finally:
        reset_errors(token)


# run_in_fp_context(function, *arguments) calls in a context that ignores floating-point errors, at a fifth of the cost
# of changing the state. Only one call can be in it at a time; see `is_context_busy`.
_fp_context = contextvars.Context()
_fp_context.run(np.seterr, all="ignore")
run_in_fp_context = _fp_context.run


def is_context_busy(error):
    """Whether a call in the context has not started because another one was active (in another thread, for example).

    Such an error has no frame of the called function. The same is true for a builtin, which may be called again.
    """
    return type(error) is RuntimeError and error.__traceback__.tb_next is None


def call_without_fp_warnings(function, *arguments):
    """Calls a function without floating-point warnings; any number of threads may do so at once."""
    try:
        return run_in_fp_context(function, *arguments)
    except RuntimeError as error:
        if not is_context_busy(error):
            raise
    with ignore_fp_errors():
        return function(*arguments)
