"""The namespace of kernels on XLA: calling one records it."""

from __future__ import annotations

import functools
import types

import numpy as np

from ..._dtypes import HALF
from .. import Engine
from ._calls import TRACED_ERRORS
from .lazy import record, recording, run_all, synchronize

ABOUT_FORM = frozenset(("broadcast_shapes", "iscomplexobj", "issubdtype", "ndim", "result_type", "shape", "size"))


class LazyEngine(Engine):
    """Kernels that are recorded, and functions that ask for what is known of arrays without their elements."""

    aliases = False
    records = True
    sums_products_wide = True
    traced_errors = TRACED_ERRORS

    def __getattr__(self, name):
        found = getattr(self._library, name)
        if isinstance(found, types.ModuleType):
            found = LazyEngine(f"{self.name}.{name}", found)
        elif callable(found) and not isinstance(found, type) and name not in ABOUT_FORM:
            found = recording(found)
        setattr(self, name, found)
        return found

    def kernel(self, function):
        setattr(self, function.__name__, recording(function))
        return function

    def immediate(self, function):
        """Decorator: makes `function` a kernel that is not recorded, as it computes nothing itself."""
        setattr(self, function.__name__, function)
        return function

    def run(self, function, arrays, settings):
        return record(function, (self, *arrays), settings)

    def vjps(self, backward, widens):
        return functools.partial(pull, backward, widens)

    def run_recorded(self):
        run_all()

    def synchronize(self):
        synchronize()


class Saved:
    """What a node of the graph holds for its vjps."""

    __slots__ = ("inputs", "out", "settings", "shapes")

    def __init__(self, inputs, out, settings, shapes):
        self.inputs = inputs
        self.out = out
        self.settings = settings
        self.shapes = shapes


def pull(backward, widens, gradient, node):
    """The vjps of a node, recorded as one call."""
    return record(pull_saved, (backward, widens, gradient, node.inputs, node.out, node.settings, node.shapes), {})


def pull_saved(backward, widens, gradient, inputs, out, settings, shapes):
    """The vjps, with inputs in half precision as the forward saw them."""
    if widens:
        inputs = tuple([widen(x) for x in inputs])
    return backward(gradient, Saved(inputs, out, settings, shapes))


def widen(x):
    return x.astype(np.float32) if getattr(x, "dtype", None) in HALF else x
