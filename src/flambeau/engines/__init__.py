"""Engines: what computes. An engine is a namespace of kernels with NumPy's names and meaning.

Ops are written against such a namespace, called ``k``. Most names are served by the engine's array library
itself; an engine overrides a kernel by defining a function of that name in its own folder.
"""

from __future__ import annotations

import importlib
import sys

import numpy as np

from .._modes import modes


class Namespace:
    """Kernels by name: the engine's own ones first, the array library's for the rest."""

    def __init__(self, name, library):
        self.name = name
        self._library = library

    def __getattr__(self, kernel):
        found = getattr(self._library, kernel)
        setattr(self, kernel, found)
        return found

    def operand(self, x):
        """x as the engine's kernels take it."""
        return x

    def kernel(self, function):
        """Decorator: makes `function` this engine's kernel of that name."""
        setattr(self, function.__name__, function)
        return function


NUMPY = Namespace("numpy", np)
PLAIN = frozenset((float, int, bool, complex, type(None)))  # operands that belong to no engine

TRACED = (
    "{what} needs the elements of a tensor ({operands}), which are not known while a program is traced to be compiled. "
    "Say it with tensors (where() instead of if, a mask instead of a selection), or do it outside of what is compiled."
)


def is_traced(array):
    """Whether the array belongs to a program that is being traced, so that its elements are not known."""
    return type(array).__module__.startswith("jax") and isinstance(array, sys.modules["jax"].core.Tracer)


def is_traced_error(error):
    """Whether jax raised `error` because something asked for the elements of a traced array."""
    return type(error).__module__ == "jax.errors"


def on_host(array, what):
    """The elements as a NumPy array, for `what`, which is named where a traced array has none."""
    if type(array) is np.ndarray:
        return array
    try:
        return np.asarray(array)
    except TypeError as error:
        if not is_traced_error(error):
            raise
        raise needs_elements(what, f"{array.dtype}{list(array.shape)}") from error


def needs_elements(what, operands):
    """The error of something that needs the elements of a traced array. The trace fails, even where it is caught."""
    error = RuntimeError(TRACED.format(what=what, operands=operands))
    return error if modes.trace is None else modes.trace.refuse(error)


def demand(holds, wrong, error):
    """Raises ``error(wrong)`` unless `holds` is true: now, or, of traced values, when the compiled program runs."""
    if not is_traced(holds):
        if not holds:
            raise error(wrong.item())
    elif modes.trace is not None:
        modes.trace.require(holds, wrong, error)


def xla_engine():
    """The XLA engine, which is imported when it is first asked for."""
    return importlib.import_module("flambeau.engines.xla").engine


def meta_engine():
    """The meta engine, which is imported when it is first asked for."""
    return importlib.import_module("flambeau.engines.meta").meta


def engine_of(*operands):
    """NumPy, unless an operand is an array of another engine: NumPy's arrays are constants to the others."""
    for x in operands:
        kind = type(x)
        if kind is np.ndarray or kind in PLAIN:
            continue
        if kind.__module__.partition(".")[0] in ("jax", "jaxlib"):
            return xla_engine()
        if isinstance(x, np.ndarray):
            return meta_engine()
    return NUMPY
