"""The key of a recorded call: its function, its static arguments, the shapes and dtypes of its arrays.

Calls that agree in all of that share a Signature. It knows the shapes and dtypes of the results, which jax has inferred
once, by tracing the function; nothing is computed for it.

Numbers are separate from other static arguments. A signature holds for all numbers: they are constants of a program
at first, and inputs of it once they have been seen to change (a learning rate, say). Where a function decides something
by a number, there is a signature for each number.
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

ARRAY = type(jnp.zeros(()))  # of jax, with elements
BY_IDENTITY = (type, np.dtype, np.ufunc, type(jnp.add), type(jax.jit(abs)), types.BuiltinFunctionType, device, _Named,
               Engine, types.EllipsisType)
INTS = {int}
_by_identity: set[type] = set()  # the types of those that have been met
TRACED_ERRORS = (
    jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError, jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError,
)


class Unrecordable(Exception):
    """A call cannot be recorded: an argument may change before it runs, or is being traced, or elements are needed."""


class Aval:
    """Shape and dtype of an array. There is one object for each, so that they are compared by identity."""

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
    """(key, inputs, numbers) of a call; see ``read``. In a recurrent layer it is another one."""
    key, inputs, numbers = [function, layer.is_recurrent], [], []
    read(args, key, inputs, numbers, lazy)
    for name, value in settings.items():
        key.append(name)
        read((value,), key, inputs, numbers, lazy)
    return tuple(key), inputs, tuple(numbers)


def read(args, key, inputs, numbers, lazy):
    """Adds to `key` the key of these arguments, to `inputs` the arrays among them, and to `numbers` the
    floats; `lazy` is the class of lazy arrays, or of those that stand for them in a trace."""
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
            else:  # there are two zeros, which are equal
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
            inputs.append(x.copy())  # whoever owns it may write to it
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
    """A function is identified by its code and by what it has closed over, which must be as constant as the code."""
    if function.__closure__ is None or hasattr(function, "spec"):  # the function of an op stays the same
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
    """The place of an array, or of a number, in the arguments of a signature."""

    __slots__ = ("is_number", "place")

    def __init__(self, place, is_number):
        self.place = place
        self.is_number = is_number


def with_holes(x, lazy, counts):
    """An argument with holes in the place of its arrays and numbers, in the order in which they are read."""
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
    """An argument with arrays and numbers in the place of its holes."""
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
    """Items in a sequence of the kind of another one."""
    return sequence._make(items) if hasattr(sequence, "_make") else type(sequence)(items)


# ---- results


def flatten(x, leaves):
    """What a function returned, with numbers in the place of its arrays, which are appended to `leaves`."""
    if x is None:
        return None
    if isinstance(x, (tuple, list)):
        return rebuild(x, [flatten(item, leaves) for item in x])
    leaves.append(x)
    return len(leaves) - 1


def unflatten(tree, leaves):
    """What a function returned, with these arrays."""
    if type(tree) is int:
        return leaves[tree]
    return None if tree is None else rebuild(tree, [unflatten(item, leaves) for item in tree])


# ---- signatures


class Inference(Tracer):
    """What stands where a trace would while a signature is inferred, or replayed into a program."""

    def __init__(self):
        self.requirements = []  # (what must hold, the value that is wrong if it does not, the error for it)

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
    """What calls that differ in elements, and in numbers, have in common.

    ``tree`` is how the results are nested, ``aliases`` which of them are inputs (the place of the input, else None),
    ``avals`` are those of the others; ``errors`` make the exceptions of conditions on elements. ``row`` are the sources
    of the results in their order where these are a list, as those of vjps.
    """

    __slots__ = ("_digest", "_jitted_call", "aliases", "args", "avals", "by_numbers", "computes", "errors", "forms",
                 "function", "inputs", "is_free", "is_recurrent", "is_single", "key", "numbers", "row",
                 "settings", "sources", "tree")

    def __init__(self, key, function, args, settings, inputs, numbers, lazy):
        counts = [0, 0]
        self.key = key
        self._digest = self._jitted_call = None
        self.function = function
        self.is_recurrent = layer.is_recurrent  # so it is traced where the layer has ended
        self.args = with_holes(args, lazy, counts)
        self.settings = with_holes(settings, lazy, counts)
        self.inputs = inputs  # their avals
        self.numbers = numbers
        self.is_free = None if numbers else True  # whether the numbers decide nothing; None: not known yet
        self.by_numbers = {}  # where they do: other signatures
        self.forms = {}  # (aliases, tree, errors) by constants
        self.aliases, self.avals, self.tree, self.errors = self.infer(numbers)
        self.computes = bool(self.avals or self.errors)
        self.is_single = self.tree == 0 and self.aliases == [None]
        places = iter(range(len(self.avals)))  # the count of each result among those that are computed; ~i: input i
        self.sources = [next(places) if alias is None else ~alias for alias in self.aliases]
        is_flat = type(self.tree) is list and all([type(i) in (int, NoneType) for i in self.tree])
        self.row = [None if i is None else self.sources[i] for i in self.tree] if is_flat else None

    @property
    def jitted_call(self):
        """``call``, which programs trace once, however often they contain it."""
        if self._jitted_call is None:
            self._jitted_call = jax.jit(self.call, static_argnums=(0, 1))
        return self._jitted_call

    @property
    def digest(self):
        """Its key in every process; raises NoDigest."""
        if self._digest is None:
            self._digest = digest(self.key)
        return self._digest

    def takes(self, arrays, numbers):
        """Whether a call on these arrays, of the shapes and dtypes that it knows, and numbers is one of its own."""
        known = self.numbers
        return len(arrays) == len(self.inputs) and (
            numbers == known or (self.is_free is True and len(numbers) == len(known))
        )

    def results(self, computed, inputs):
        """What a call returns, of what it has computed and its inputs."""
        if self.is_single:
            return computed[0]
        if self.row is not None:
            return [None if i is None else computed[i] if i >= 0 else inputs[~i] for i in self.row]
        return unflatten(self.tree, [computed[i] if i >= 0 else inputs[~i] for i in self.sources])

    def infer(self, constants):
        """(aliases, avals, tree, errors) of a call, with its numbers as constants, or as inputs where that is None."""
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
        """(results, (whether it holds, the value that is wrong if not) of each condition on elements) of traced arrays.

        Results that are inputs are left out. Where constants are None, numbers are the `varying` ones. The precision is
        what kernels find set: with another one jax traces the call again.
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
        """The signature of a call with other numbers: this one, if they decide nothing, or one that `make` makes."""
        if self.is_free is None:
            self.is_free = self.allows_inputs()
        if self.is_free:
            return self
        if numbers not in self.by_numbers:
            self.by_numbers[numbers] = make()
        return self.by_numbers[numbers]

    def allows_inputs(self):
        """Whether the function takes its numbers as inputs of a program, and nothing else of it changes."""
        try:
            aliases, avals, tree, errors = self.infer((None,) * len(self.numbers))
        except (*TRACED_ERRORS, Unrecordable, TypeError):
            return False
        return (aliases, avals, tree, len(errors)) == (self.aliases, self.avals, self.tree, len(self.errors))


KINDS[Signature] = lambda signature, parts: parts.append(signature.digest)
