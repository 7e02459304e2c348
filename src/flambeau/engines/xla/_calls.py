"""Signatures of recorded calls: the function, static arguments, and the shapes and dtypes of arrays.

Calls that agree in all of these share a Signature. It has the shapes and dtypes of the results, which jax has inferred
once by tracing the function, without computing anything.

Numbers are separate from other static arguments. A signature usually holds for all numbers: they are constants of a
program at first, and become inputs when they change (a learning rate, for example). If a function makes a decision
based on a number, there is a signature for each number.
"""

from __future__ import annotations

import functools
import types
from types import NoneType

import jax
import jax.numpy as jnp
import numpy as np

from ..._device import _Named, device
from ..._modes import Tracer, modes
from ..._precision import layer, precision, recurrent_layer
from .. import Engine
from .._views import ViewArray
from ..sparse import SparseArray
from . import _inferred
from ._digests import KINDS, digest

ARRAY = type(jnp.zeros(()))  # the class of jax's concrete arrays
BY_IDENTITY = (type, np.dtype, np.ufunc, type(jnp.add), type(jax.jit(abs)), types.BuiltinFunctionType, device, _Named,
               Engine, types.EllipsisType)
INTS = {int}
_by_identity: set[type] = set()  # the types of objects read so far
TRACED_ERRORS = (
    jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError, jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError,
)


class Unrecordable(Exception):
    """The call cannot be recorded: an argument is mutable or being traced, or the function needs elements."""


class Aval:
    """Shape and dtype of an array. Equal ones are the same object, so they are compared by identity."""

    __slots__ = ("dtype", "shape", "struct", "weak")
    instances: dict[tuple, Aval] = {}

    @classmethod
    def of(cls, shape, dtype, weak=False):
        found = cls.instances.get((shape, dtype, weak))
        if found is None:
            self = cls()
            self.shape, self.dtype, self.weak = shape, np.dtype(dtype), weak
            self.struct = jax.ShapeDtypeStruct(shape, dtype, weak_type=weak)
            found = cls.instances.setdefault((shape, self.dtype, weak), self)
        return found


KINDS[Aval] = lambda aval, parts: parts.append(f"aval {aval.shape} {aval.dtype} {aval.weak}")


# ---- reading arguments


def read_call(function, args, settings, lazy):
    """(key, inputs, numbers) of a call; see ``read``. Calls in recurrent layers have keys of their own."""
    key, inputs, numbers = [function, layer.is_recurrent], [], []
    read(args, key, inputs, numbers, lazy)
    for name, value in settings.items():
        key.append(name)
        read((value,), key, inputs, numbers, lazy)
    return tuple(key), inputs, tuple(numbers)


def read(args, key, inputs, numbers, lazy):
    """Appends the key of these arguments to `key`, the arrays among them to `inputs`, and the floats to `numbers`.

    `lazy` is the class of lazy arrays; in a trace, that of tracers.
    """
    for x in args:
        kind = type(x)
        if kind is lazy:
            key.append(x.aval)
            inputs.append(x)
        elif kind is ViewArray:
            read((x.value,), key, inputs, numbers, lazy)
        elif kind is int or kind is str or x is None:
            key.append(x)
        elif kind is float:
            if x:
                key.append(float)
                numbers.append(x)
            else:  # 0.0 and -0.0 are equal
                key.append(repr(x))
        elif kind in _by_identity:
            key.append(x)
        elif kind is bool:
            key.append("true" if x else "false")
        elif kind is tuple and {*map(type, x)} == INTS:
            key.append(x)
        elif isinstance(x, (tuple, list)):
            key.append(kind)
            key.append(len(x))
            read(x, key, inputs, numbers, lazy)
        elif kind is dict:
            key.append(dict)
            key.append(len(x))
            for name, value in x.items():
                key.append(name)
                read((value,), key, inputs, numbers, lazy)
        elif kind is ARRAY:
            key.append(Aval.of(x.shape, x.dtype, x.weak_type))
            inputs.append(x)
        elif kind is np.ndarray:
            key.append(Aval.of(x.shape, x.dtype))
            inputs.append(x.copy())  # its owner may write to it
        else:
            read_other(x, key, inputs, numbers, lazy)


def read_other(x, key, inputs, numbers, lazy):
    if isinstance(x, slice):
        key.append(slice)
        read((x.start, x.stop, x.step), key, inputs, numbers, lazy)
    elif isinstance(x, BY_IDENTITY):
        _by_identity.add(type(x))
        key.append(x)
    elif isinstance(x, functools.partial):
        key.append(functools.partial)
        read((x.func, x.args, x.keywords), key, inputs, numbers, lazy)
    elif isinstance(x, types.FunctionType):
        read_function(x, key, lazy)
    elif isinstance(x, np.generic):
        key.extend((type(x), x.tobytes()))
    elif isinstance(x, lazy):
        key.append(Aval.of(x.shape, x.dtype, x.weak_type))
        inputs.append(x)
    elif type(x) is complex:
        key.extend((complex, repr(x)))
    else:
        raise Unrecordable(type(x))


def read_function(function, key, lazy):
    """A function is identified by its code and its closure, which must be constant."""
    if function.__closure__ is None or hasattr(function, "spec"):  # an op's function never changes
        key.append(function)
        return
    inputs, numbers = [], []
    key.append(function.__code__)
    cells = [cell.cell_contents for cell in function.__closure__]
    read((cells, function.__defaults__, function.__kwdefaults__), key, inputs, numbers, lazy)
    if inputs:
        raise Unrecordable(function)
    key.extend(map(repr, numbers))


# ---- filling in


class Hole:
    """A placeholder for an array or a number in the arguments of a signature."""

    __slots__ = ("is_number", "place")

    def __init__(self, place, is_number):
        self.place = place
        self.is_number = is_number


def with_holes(x, lazy, counts):
    """An argument with its arrays and numbers replaced by holes, numbered in the order in which ``read`` finds them."""
    kind = type(x)
    if kind in (ViewArray, ARRAY, np.ndarray) or isinstance(x, lazy):
        counts[0] += 1
        return Hole(counts[0] - 1, False)
    if kind is float and x:
        counts[1] += 1
        return Hole(counts[1] - 1, True)
    if isinstance(x, (tuple, list)):
        return rebuild(x, [with_holes(item, lazy, counts) for item in x])
    if kind is dict:
        return {name: with_holes(value, lazy, counts) for name, value in x.items()}
    if isinstance(x, functools.partial):
        return functools.partial(*with_holes((x.func, *x.args), lazy, counts), **with_holes(x.keywords, lazy, counts))
    if kind is slice:
        return slice(*[with_holes(item, lazy, counts) for item in (x.start, x.stop, x.step)])
    return x


def fill(x, arrays, numbers):
    """An argument with its holes replaced by arrays and numbers."""
    kind = type(x)
    if kind is Hole:
        return numbers[x.place] if x.is_number else arrays[x.place]
    if isinstance(x, (tuple, list)):
        return rebuild(x, [fill(item, arrays, numbers) for item in x])
    if kind is dict:
        return {name: fill(value, arrays, numbers) for name, value in x.items()}
    if isinstance(x, functools.partial):
        return functools.partial(*fill((x.func, *x.args), arrays, numbers), **fill(x.keywords, arrays, numbers))
    if kind is slice:
        return slice(*[fill(item, arrays, numbers) for item in (x.start, x.stop, x.step)])
    return x


def rebuild(sequence, items):
    """A sequence of the same type with other items."""
    return sequence._make(items) if hasattr(sequence, "_make") else type(sequence)(items)


# ---- results


def flatten(x, leaves):
    """The result of a function with its arrays replaced by numbers; the arrays are appended to `leaves`."""
    if x is None:
        return None
    if isinstance(x, (tuple, list)):
        return rebuild(x, [flatten(item, leaves) for item in x])
    leaves.append(x)
    return len(leaves) - 1


def unflatten(tree, leaves):
    """The result of a function with these arrays."""
    if type(tree) is int:
        return leaves[tree]
    return None if tree is None else rebuild(tree, [unflatten(item, leaves) for item in tree])


# ---- signatures


class Inference(Tracer):
    """The tracer while a signature is inferred, or traced into a program."""

    def __init__(self):
        self.requirements = []  # (condition, the value that violates it, its error)

    def require(self, holds, wrong, error):
        self.requirements.append((holds, wrong, error))

    def refuse(self, error):
        return Unrecordable(error)

    def __enter__(self):
        self.before, modes.tracer = modes.tracer, self
        return self

    def __exit__(self, *exc):
        modes.tracer = self.before


class Signature:
    """The properties shared by calls that differ only in elements and numbers.

    ``tree`` is the structure of the results. ``aliases`` has the index of the input that each result is, or None;
    ``avals`` are those of the others. ``errors`` create the exceptions for conditions on elements. ``row`` has the
    sources of the results if these are a flat list, as for vjps.
    """

    __slots__ = ("_digest", "_jitted_call", "aliases", "args", "avals", "by_numbers", "computes", "errors", "forms",
                 "function", "inputs", "is_free", "is_recurrent", "is_single", "key", "numbers", "row",
                 "settings", "sources", "tree")

    def __init__(self, key, function, args, settings, inputs, numbers, lazy):
        counts = [0, 0]
        self.key = key
        self._digest = self._jitted_call = None
        self.function = function
        self.is_recurrent = layer.is_recurrent  # it may be traced after the layer has ended
        self.args = with_holes(args, lazy, counts)
        self.settings = with_holes(settings, lazy, counts)
        self.inputs = inputs  # of the arrays
        self.numbers = numbers
        self.is_free = None if numbers else True  # whether it holds for all numbers; None: not known yet
        self.by_numbers = {}  # signatures for other numbers, if it does not
        self.forms = {}  # (aliases, tree, errors) by constants
        self.aliases, self.avals, self.tree, self.errors = self.infer(numbers)
        self.computes = bool(self.avals or self.errors)
        self.is_single = self.tree == 0 and self.aliases == [None]
        places = iter(range(len(self.avals)))  # index among the computed results; ~i: input i
        self.sources = [next(places) if alias is None else ~alias for alias in self.aliases]
        is_flat = type(self.tree) is list and all([type(i) in (int, NoneType) for i in self.tree])
        self.row = [None if i is None else self.sources[i] for i in self.tree] if is_flat else None

    @property
    def jitted_call(self):
        """``call``, traced once for all programs that contain it."""
        if self._jitted_call is None:
            self._jitted_call = jax.jit(self.call, static_argnums=(0, 1))
        return self._jitted_call

    @property
    def digest(self):
        """The digest of the key, the same in every process; raises NoDigest."""
        if self._digest is None:
            self._digest = digest(self.key)
        return self._digest

    def takes(self, arrays, numbers):
        """Whether a call with these arrays (of known shapes and dtypes) and numbers has this signature."""
        known = self.numbers
        return len(arrays) == len(self.inputs) and (
            numbers == known or (self.is_free is True and len(numbers) == len(known))
        )

    def results(self, computed, inputs):
        """The result of a call, from its computed arrays and its inputs."""
        if self.is_single:
            return computed[0]
        if self.row is not None:
            return [None if i is None else computed[i] if i >= 0 else inputs[~i] for i in self.row]
        return unflatten(self.tree, [computed[i] if i >= 0 else inputs[~i] for i in self.sources])

    def infer(self, constants):
        """(aliases, avals, tree, errors) of a call. Numbers are constants, or inputs where `constants` has None."""
        name = _inferred.name_of(self, constants, precision.key)
        known = None if name is None else _inferred.table.get(name)
        if known is not None:
            aliases, forms, tree = known
            return aliases, [Aval.of(*form) for form in forms], tree, []
        varying = [n for n, constant in zip(self.numbers, constants) if constant is None]
        structs = [aval.struct for aval in self.inputs]
        structs, _ = self.jitted_call.eval_shape(constants, precision.key, structs, varying)
        aliases, tree, errors = self.forms[constants]
        forms = [(s.shape, s.dtype, s.weak_type) for s in structs]
        if name is not None and not errors:
            _inferred.table.put(name, aliases, forms, tree)
        return aliases, [Aval.of(*form) for form in forms], tree, errors

    def call(self, constants, precision, arrays, varying):
        """(results, (whether it holds, the value that violates it) of each condition on elements), for traced arrays.

        Results that are inputs are omitted. Where `constants` has None, the number is the next of `varying`. Kernels
        read the global precision; as a static argument it makes jax trace again when it changes.
        """
        varying = iter(varying)
        numbers = [next(varying) if constant is None else constant for constant in constants]
        with Inference() as tracer, recurrent_layer(self.is_recurrent):
            found = self.function(*fill(self.args, arrays, numbers), **fill(self.settings, arrays, numbers))
        leaves = []
        tree = flatten(found, leaves)
        if any(isinstance(leaf, SparseArray) for leaf in leaves):
            raise Unrecordable
        places = {id(a): i for i, a in enumerate(arrays)}
        aliases = [places.get(id(leaf)) for leaf in leaves]
        self.forms[constants] = aliases, tree, [error for *_, error in tracer.requirements]
        results = [jnp.asarray(leaf) for leaf, alias in zip(leaves, aliases) if alias is None]
        return results, [condition for *condition, _ in tracer.requirements]

    def for_numbers(self, numbers, make):
        """The signature of a call with other numbers: this one if it holds for all, otherwise one created by `make`."""
        if self.is_free is None:
            self.is_free = self.allows_inputs()
        if self.is_free:
            return self
        if numbers not in self.by_numbers:
            self.by_numbers[numbers] = make()
        return self.by_numbers[numbers]

    def allows_inputs(self):
        """Whether the function can take its numbers as inputs of a program, with the same results otherwise."""
        try:
            aliases, avals, tree, errors = self.infer((None,) * len(self.numbers))
        except (*TRACED_ERRORS, Unrecordable, TypeError):
            return False
        return (aliases, avals, tree, len(errors)) == (self.aliases, self.avals, self.tree, len(self.errors))


KINDS[Signature] = lambda signature, parts: parts.append(signature.digest)
