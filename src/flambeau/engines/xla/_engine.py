"""The namespace of kernels on XLA: calling one records it."""

from __future__ import annotations

import functools
import types

import numpy as np

from ..._dtypes import HALF
from ..._modes import NO_TRACER, modes
from .. import Engine
from ._calls import ARRAY, TRACED_ERRORS, Unrecordable, read
from ._recipes import Watch
from .lazy import LazyArray, add_to, record, record_call, recording, recording_lock, run_all, synchronize

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

    def known_vjps(self, backward, widens, has_numbers):
        return KnownVjps(backward, widens, has_numbers)

    def read(self, operands, key, arrays, numbers):
        try:
            read(operands, key, arrays, numbers, LazyArray)
        except Unrecordable:
            return False
        return True

    def watch(self, arrays, numbers):
        return Watch(arrays, numbers)

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


class KnownVjps:
    """The vjps of the nodes of one known call of an op: by the gradient it is known what they record.

    Where the op takes numbers (floats), nodes differ in them.
    """

    __slots__ = ("backward", "has_numbers", "signatures", "widens")

    def __init__(self, backward, widens, has_numbers):
        self.backward = backward
        self.widens = widens
        self.has_numbers = has_numbers
        self.signatures = {}  # by shape and dtype of the gradient

    def __call__(self, gradient, node):
        if type(gradient) is not LazyArray or self.has_numbers or modes.tracer is not NO_TRACER:
            return pull(self.backward, self.widens, gradient, node)
        signature = self.signatures.get(gradient.aval)
        if signature is None:
            return self.learn(gradient, node)
        arrays = [gradient]
        for x in node.inputs if type(node.out) is not tuple else (*node.inputs, *node.out):
            if type(x) is LazyArray or type(x) is ARRAY:
                arrays.append(x)
            elif type(x) is np.ndarray:
                return self.learn(gradient, node)
        if type(node.out) is LazyArray:
            arrays.append(node.out)
        with recording_lock:
            return add_to(gradient.graph, signature, arrays, ())

    def learn(self, gradient, node):
        arguments = (self.backward, self.widens, gradient, node.inputs, node.out, node.settings, node.shapes)
        result, signature = record_call(pull_saved, arguments, {})
        if signature is not None and not signature.numbers:
            self.signatures[gradient.aval] = signature
        return result


def pull_saved(backward, widens, gradient, inputs, out, settings, shapes):
    """The vjps, with inputs in half precision as the forward saw them, and sums of gradients as precise."""
    if widens:
        inputs = tuple([widen(x) for x in inputs])
        gradient = [widen(g) for g in gradient] if type(gradient) is list else widen(gradient)
    return backward(gradient, Saved(inputs, out, settings, shapes))


def widen(x):
    return x.astype(np.float32) if getattr(x, "dtype", None) in HALF else x
