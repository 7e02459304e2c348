"""Lazy evaluation: on XLA devices calls are recorded, and run together as one program when elements are needed.

A LazyArray takes the place of a jax array. Its shape and dtype are known; its elements may not be computed yet. The
calls recorded on a device form its Graph. When elements are needed, the graph runs as one XLA program, which is cached
by the structure of the graph: a training loop compiles its first steps, and then reruns the programs. Results without
references are not computed.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import operator
from sys import getrefcount

import jax
import numpy as np
from jax.errors import JaxRuntimeError

from ..._interrupts import defer_interrupts, is_interrupt
from ..._modes import NO_TRACER, modes
from ..._precision import precision
from .. import ShapedArray
from .._views import ViewArray, define_operators
from ._calls import ARRAY, TRACED_ERRORS, Aval, Signature, Unrecordable, read_call, rebuild
from ._conditions import Run, recording_lock, users_line, verify, verify_early
from ._failures import FAILED, as_pytorch_error, failure_of, note_failure
from ._programs import Families, Statistics

_new = object.__new__
LONGEST = 20_000  # calls after which a graph runs in any case


class LazyArray(ShapedArray):
    """An array on an XLA device, whose elements may not be computed yet."""

    __slots__ = ("__weakref__", "_slot", "_value", "aval", "dtype", "graph", "shape")

    __array_priority__ = 100

    def __init__(self, aval, graph, slot):
        self.aval = aval
        self.shape = aval.shape
        self.dtype = aval.dtype
        self.graph = graph
        self._slot = slot  # its number among the results of the graph
        self._value = None

    @classmethod
    def of(cls, array):
        """A lazy array for a computed jax array."""
        self = cls(aval_of(array), Graph.on(next(iter(array.devices()))), None)
        self._value = array
        return self

    @property
    def value(self):
        """The jax array; runs the graph if necessary."""
        found = self._value
        if found is None:
            self.graph.run()
            found = self._value
        if isinstance(found, Exception):
            raise RuntimeError(FAILED.format(error=found)) from found
        return found

    @property
    def verified_value(self):
        """The jax array, after all pending checks, for use outside of recorded calls."""
        found = self.value
        verify()
        return found

    @property
    def elements(self):
        """The elements as a NumPy array."""
        found = self.verified_value
        try:
            return np.asarray(found)
        except (JaxRuntimeError, MemoryError) as error:
            failure = failure_of(found)
            if failure is None:
                raise
            self._value = failure
            raise failure from error

    def __repr__(self):
        return f"LazyArray({self.dtype}{list(self.shape)})"

    # ---- what needs the elements

    def __array__(self, dtype=None, copy=None):
        found = self.elements
        return found if dtype is None else found.astype(dtype)

    def __jax_array__(self):
        return self.verified_value

    def __bool__(self):
        return bool(self.elements)

    def __int__(self):
        return int(self.elements)

    def __float__(self):
        return float(self.elements)

    def __complex__(self):
        return complex(self.elements)

    def __index__(self):
        return operator.index(self.elements)

    def item(self, *args):
        return self.elements.item(*args)

    def tolist(self):
        return self.elements.tolist()

    # ---- what is recorded

    def __getitem__(self, key):
        return record(operator.getitem, (self, key), {})

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    @property
    def at(self):
        return At(self)

    def __getattr__(self, name):
        if name in ATTRIBUTES:
            return record(getattr, (self, name), {})
        if name in METHODS:
            return functools.partial(call_method, self, name)
        return getattr(self.verified_value, name)


ATTRIBUTES = frozenset(("T", "mT", "real", "imag"))
METHODS = frozenset((
    "all", "any", "argmax", "argmin", "astype", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot",
    "flatten", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round", "squeeze", "std", "sum", "swapaxes",
    "take", "trace", "transpose", "var",
))


def call_method(array, name, *args, **kwargs):
    return record(method, (array, name, *args), kwargs)


def method(array, name, *args, **kwargs):
    return getattr(array, name)(*args, **kwargs)


class At:
    """``x.at[key].set(value)`` and similar updates."""

    def __init__(self, array, key=None):
        self.array = array
        self.key = key

    def __getitem__(self, key):
        return At(self.array, key)

    def __getattr__(self, name):
        return functools.partial(record_update, self.array, self.key, name)


def record_update(array, key, name, *args, **kwargs):
    return record(update, (array, key, name, *args), kwargs)


def update(array, key, name, *args, **kwargs):
    return getattr(array.at[key], name)(*args, **kwargs)


define_operators(LazyArray, lambda call, *operands: record(call, operands, {}))


# ---- graphs


class Graph:
    """The recorded calls of a device that have not run yet."""

    families = Families()
    of_device: dict[object, Graph] = {}

    def __init__(self, jax_device):
        self.jax_device = jax_device
        self.clear()

    @classmethod
    def on(cls, jax_device):
        found = cls.of_device.get(jax_device)
        return found or cls.of_device.setdefault(jax_device, cls(jax_device))

    def clear(self):
        self.calls = []  # (signature, places of its inputs); see _programs.py
        self.results = []  # LazyArrays, by place
        self.leaves = []  # arrays from outside
        self.places = {}  # id of such an array -> its place
        self.numbers = []
        self.conditions = []  # (error, where it was recorded)

    @property
    def contents(self):
        """Everything that was recorded."""
        return self.calls, self.results, self.leaves, self.places, self.numbers, self.conditions

    @contents.setter
    def contents(self, contents):
        self.calls, self.results, self.leaves, self.places, self.numbers, self.conditions = contents

    def place_of(self, x):
        """The place of an input of a call."""
        if type(x) is LazyArray:
            found = x._value
            if found is None and x.graph is self:
                return x._slot
            x = found if type(found) is ARRAY else x.value
        place = self.places.get(id(x))
        if place is None:
            self.leaves.append(x)
            place = self.places[id(x)] = -len(self.leaves)
        return place

    def append(self, signature, inputs, numbers):
        """Records a call; returns its results, except those that are inputs."""
        places, known = [], self.places
        for x in inputs:
            place = None
            if type(x) is LazyArray:
                found = x._value
                if found is not None:
                    place = known.get(id(found))
                elif x.graph is self:
                    place = x._slot
            places.append(self.place_of(x) if place is None else place)
        places = tuple(places)
        computed, slot = [], len(self.results)
        for aval in signature.avals:
            array = _new(LazyArray)
            array.aval = aval
            array.shape = aval.shape
            array.dtype = aval.dtype
            array.graph = self
            array._slot = slot
            array._value = None
            computed.append(array)
            slot += 1
        conditions = [*zip(signature.errors, [users_line()] * len(signature.errors))] if signature.errors else ()
        self.results += computed  # no calls from here on, so that no interrupt can come in between
        self.numbers += numbers
        self.conditions += conditions
        self.calls += ((signature, places),)
        return computed

    def run(self):
        """Runs the recorded calls whose results are still referenced. After an interrupt before that, they stay
        recorded."""
        with recording_lock:
            recorded = self.contents
            calls, _, leaves, _, numbers, conditions = recorded
            wanted = self.held_places()
            arrays = [self.results[place] for place in wanted]
            is_running = False
            try:
                self.clear()
                if not wanted and not conditions:
                    return
                with self.tracing():
                    start = self.families.find(tuple(calls), wanted).prepare(leaves, tuple(numbers))
                    with defer_interrupts():  # an interrupt would lose both donated inputs and results
                        is_running = True
                        self.store(arrays, conditions, *start())
            except BaseException as error:
                failure = as_pytorch_error(error)
                if failure is not error:
                    note_failure(arrays, failure)
                    raise failure from error
                if is_interrupt(error) and not is_running:
                    self.contents = recorded
                else:
                    note_failure(arrays, error)
                raise
            verify_early()

    @staticmethod
    def store(arrays, conditions, values, holds, wrong):
        """Stores the results of a program in their lazy arrays."""
        for array, value in zip(arrays, values, strict=True):
            array._value = value
        Run.note(arrays, holds, wrong, conditions)

    @contextlib.contextmanager
    def tracing(self):
        """The context for tracing functions: jax traces again if the default device is another one."""
        with outside_of_traces(), jax.default_device(self.jax_device):
            yield

    def run_if_long(self):
        if len(self.calls) >= LONGEST:
            self.run()

    def held_places(self):
        """The places of the results that are still referenced."""
        return tuple([place for place, array in enumerate(self.results) if getrefcount(array) > UNHELD])


def outside_of_traces():
    """A context in which programs run, even while a function is being traced.

    It also evaluates expressions without inputs, such as zeros, instead of tracing them.
    """
    return contextlib.nullcontext() if modes.tracer is NO_TRACER else jax.ensure_compile_time_eval()


def references_of_our_own():
    """The reference count, in ``held_places``, of a result without other references."""
    (count,) = [getrefcount(array) for _, array in enumerate([object()])]
    return count


UNHELD = references_of_our_own()


def run_all():
    """Runs the recorded calls of all devices."""
    for graph in list(Graph.of_device.values()):
        graph.run()


precision.before_change.append(run_all)


def synchronize():
    """Runs all recorded calls, and waits for the results."""
    with recording_lock:
        run_all()
        for device in Graph.of_device:
            _tick(jax.device_put(0, device)).block_until_ready()  # a device runs its programs in order
        verify()


_tick = jax.jit(lambda x: x + 1)


@atexit.register
def _report_at_exit():
    """Reports an error that nobody has seen, because no elements were read."""
    for graph in Graph.of_device.values():
        if graph.conditions:
            graph.run()
    verify()


# ---- recording


_signatures: dict[tuple, Signature | None] = {}  # None: the function needs elements, and cannot be recorded


def record(function, args, settings):
    """``function(*args, **settings)``, recorded if the arguments contain arrays on a device."""
    return record_call(function, args, settings)[0]


def record_call(function, args, settings, graph=None):
    """(result, signature) of a recorded call; the signature is None if it was not recorded.

    `graph` must be passed for a call without arrays on a device.
    """
    if modes.tracer is not NO_TRACER:
        return modes.tracer.call_kernel(call_now, function, args, settings), None
    try:
        key, inputs, numbers = read_call(function, args, settings, LazyArray)
    except Unrecordable:
        return call_now(function, args, settings), None
    graph = graph or graph_of(inputs)
    if graph is None:
        return function(*args, **settings), None
    with recording_lock:
        signature = _signatures.get(key, key)
        if signature is key or (signature is not None and not signature.is_free and numbers != signature.numbers):
            with graph.tracing():
                signature = signature_for(key, function, args, settings, inputs, numbers, LazyArray)
        if signature is None:
            return call_now(function, args, settings), None
        return add_to(graph, signature, inputs, numbers), signature


def add_to(graph, signature, inputs, numbers):
    """Adds a call with this signature to a graph; returns its result."""
    computed = graph.append(signature, inputs, numbers) if signature.computes else ()
    if not modes.lazy:
        graph.run()
        verify()
    else:
        graph.run_if_long()
    return signature.results(computed, inputs)


def signature_for(key, function, args, settings, inputs, numbers, lazy):
    """The signature of a call with the given key; `lazy` is the class of lazy arrays. See ``infer``."""
    def infer_again():
        return infer(key, function, args, settings, inputs, numbers, lazy)

    found = _signatures.get(key, key)
    if found is key:
        found = _signatures[key] = infer_again()
    elif found is not None and not found.is_free and numbers != found.numbers:
        found = found.for_numbers(numbers, infer_again)
    return found


def infer(key, function, args, settings, inputs, numbers, lazy):
    """Creates the signature of a call; None if the function needs elements."""
    avals = [x.aval if type(x) is LazyArray else aval_of(x) for x in inputs]
    try:
        return Signature(key, function, args, settings, avals, numbers, lazy)
    except (*TRACED_ERRORS, Unrecordable):
        return None


def aval_of(array):
    return Aval.of(array.shape, array.dtype, getattr(array, "weak_type", False))


def graph_of(inputs):
    """The graph of the device of these inputs; None if they are on no device."""
    found = None
    for x in inputs:
        kind = type(x)
        if kind is LazyArray:
            return x.graph
        if kind is ARRAY and found is None:
            found = x
    return None if found is None else Graph.on(next(iter(found.devices())))


def call_now(function, args, settings):
    """Runs a call on jax arrays; lazy ones are computed."""
    return function(*[concrete(x) for x in args], **{name: concrete(x) for name, x in settings.items()})


def concrete(x):
    kind = type(x)
    if kind is LazyArray:
        return x.verified_value
    if kind is ViewArray:
        return concrete(x.value)
    if isinstance(x, (tuple, list)):
        return rebuild(x, [concrete(item) for item in x])
    if kind is dict:
        return {name: concrete(value) for name, value in x.items()}
    if kind is slice:
        return slice(concrete(x.start), concrete(x.stop), concrete(x.step))
    return x


def recording(function):
    """A kernel whose calls are recorded."""

    @functools.wraps(function, updated=())
    def kernel(*args, **kwargs):
        return record(function, args, kwargs)

    return kernel


__all__ = ["Graph", "LazyArray", "Statistics", "call_now", "record", "recording", "run_all", "synchronize"]
