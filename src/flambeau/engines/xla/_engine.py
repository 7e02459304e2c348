"""The namespace of kernels on XLA devices: calls are recorded."""

import types

import jax.numpy as jnp
import numpy as np

from ..._dtypes import HALF
from ..._modes import NO_TRACER, modes
from ..._precision import layer, recurrent_layer
from .. import Engine
from ._calls import ARRAY, TRACED_ERRORS, Unrecordable, read
from ._conditions import recording_lock
from ._recipes import Watch
from .lazy import LazyArray, add_to, record, record_call, recording, run_all, synchronize

ABOUT_FORM = frozenset(("broadcast_shapes", "iscomplexobj", "issubdtype", "ndim", "result_type", "shape", "size"))


class LazyEngine(Engine):
    """Kernels whose calls are recorded, and functions that only need shapes and dtypes, which are called directly."""

    aliases = False
    records = True
    recordable = frozenset((LazyArray, ARRAY))  # types of arrays whose calls can be recorded
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
        """Decorator: registers a kernel that is called directly, as it computes nothing itself."""
        setattr(self, function.__name__, function)
        return function

    def run(self, function, arrays, settings):
        return record(function, (self, *arrays), settings)

    def vjps(self, backward, widens, fit, forms):
        """The function that runs `backward`, the vjps of an op; `widens` if it computes half precision in float32.

        It includes ``fit(gradients, forms)``, which reduces gradients to the (shape, dtype) of the inputs.
        """
        return Vjps(backward, widens, fit, forms)

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
    """The saved values of a node, as its vjps access them."""

    __slots__ = ("inputs", "out", "settings", "shapes")

    def __init__(self, inputs, out, settings, shapes):
        self.inputs = inputs
        self.out = out
        self.settings = settings
        self.shapes = shapes


class Vjps:
    """The vjps of nodes of one kind, recorded as one call, whose signature depends on the gradients of the outputs.

    It remembers whether the nodes belong to a recurrent layer.
    """

    __slots__ = ("backward", "fit", "forms", "is_recurrent", "signatures", "widens")

    takes_undefined = True

    def __init__(self, backward, widens, fit, forms):
        self.backward = backward
        self.widens = widens
        self.fit = fit
        self.forms = forms
        self.is_recurrent = layer.is_recurrent
        self.signatures = {}  # by avals of the gradients; None if it must be looked up for each call

    def __call__(self, gradient, node):
        if type(gradient) is LazyArray:
            gradients, key = [gradient], gradient.aval
        else:
            gradients = gradient if type(gradient) is list else [gradient]
            key = tuple([g.aval if type(g) is LazyArray else g if g is None else self for g in gradients])
            if self in key:
                return self.record(gradient, node)[0]
        if modes.tracer is not NO_TRACER:
            return self.record(gradient, node)[0]
        signature = self.signatures.get(key, self)
        if signature is self:
            return self.learn(key, gradient, node)
        arrays, numbers = operands_of(gradients, node)
        if signature is None or not signature.takes(arrays, numbers):
            return self.record(gradient, node)[0]
        with recording_lock:
            return add_to(arrays[0].graph, signature, arrays, numbers)

    def arguments(self, gradient, node):
        """The arguments of ``pull_saved``."""
        outputs = tuple(zip(node._shape, node._dtype)) if node._count != 1 and not node.op.takes_undefined else None
        return (self.backward, self.widens, self.fit, self.forms, outputs, gradient, node.inputs, node.out,
                node.settings, node.shapes)

    def record(self, gradient, node):
        """``record_call`` for a node."""
        with recurrent_layer(self.is_recurrent):
            return record_call(pull_saved, self.arguments(gradient, node), {})

    def learn(self, key, gradient, node):
        """Records the first call for a signature."""
        result, signature = self.record(gradient, node)
        arrays, numbers = [], []
        if signature is not None:
            read(self.arguments(gradient, node), [], arrays, numbers, LazyArray)
            if not is_same((arrays, numbers), operands_of(gradient if type(gradient) is list else [gradient], node)):
                signature = None
        self.signatures[key] = signature
        return result


def operands_of(gradients, node):
    """(arrays, numbers) that the vjps of nearly all nodes are recorded with."""
    arrays, numbers, out = [g for g in gradients if g is not None], (), node.out
    for x in node.inputs:
        if type(x) is LazyArray:
            arrays.append(x)
        elif type(x) is float and x:
            numbers += (x,)
    if type(out) is LazyArray:
        arrays.append(out)
    elif out is not None:
        arrays += [x for x in out if x is not None]
    if node.settings:
        for x in node.settings.values():
            if type(x) is float and x:
                numbers += (x,)
    return arrays, numbers


def is_same(found, expected):
    """Whether two pairs of arrays and numbers are identical."""
    (arrays, numbers), (others, other_numbers) = found, expected
    return tuple(numbers) == other_numbers and list(map(id, arrays)) == list(map(id, others))


def pull_saved(backward, widens, fit, forms, outputs, gradient, inputs, out, settings, shapes):
    """Runs the vjps, with half-precision inputs and gradients in float32 if `widens`, as the forward was.

    Undefined gradients of `outputs`, (shape, dtype) each, become zeros. The results are made to `fit` their forms.
    """
    if outputs is not None:
        gradient = [jnp.zeros(*form) if g is None else g for g, form in zip(gradient, outputs, strict=True)]
    if widens:
        inputs = tuple([widen(x) for x in inputs])
        gradient = [widen(g) for g in gradient] if type(gradient) is list else widen(gradient)
    return fit(backward(gradient, Saved(inputs, out, settings, shapes)), forms)


def widen(x):
    return x.astype(np.float32) if getattr(x, "dtype", None) in HALF else x
