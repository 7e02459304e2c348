"""Floats from outside that become inputs of a program, such as learning rates and momenta.

During tracing, such a float is replaced by a proxy (``TracedFloat``). Combined with a tensor, it becomes an input of
the program. Arithmetic with other numbers gives further proxies, which Python computes before each run. Any other use
specializes the program: a comparison to its outcome, everything else to the value.
"""

import operator
import threading

import numpy as np

from ._places import MISSING
from ._pytree import is_same_value

NUMBERS = (int, float, bool)
COMPARISONS = {"__eq__": operator.eq, "__ne__": operator.ne, "__lt__": operator.lt, "__le__": operator.le,
               "__gt__": operator.gt, "__ge__": operator.ge}
ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
              "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow}
UNARY = {"__neg__": operator.neg, "__pos__": operator.pos, "__abs__": abs}
CONVERSIONS = ("__int__", "__float__", "__trunc__", "__floor__", "__ceil__", "__round__", "__hash__",
               "__repr__", "__str__", "__format__", "__divmod__", "__rdivmod__")


class NotAFloat(Exception):
    """A value that was a float is not one any more."""


class Source:
    """Reads a float from a place, or from a tuple at a place."""

    __slots__ = ("index", "label", "place")

    def __init__(self, place, index, label):
        self.place = place
        self.index = index
        self.label = label

    @property
    def key(self):
        return (*self.place.key, self.index)

    def __call__(self):
        value = self.place.value()
        if self.index is not None and type(value) is tuple and self.index < len(value):
            value = value[self.index]
        if type(value) is not float:
            raise NotAFloat(f"{self.label} was a float and is {'absent' if value is MISSING else repr(value)}")
        return value


class Computation:
    """A computation on floats."""

    __slots__ = ("function", "operands")

    def __init__(self, function, *operands):
        self.function = function
        self.operands = operands

    @property
    def key(self):
        """Equal for equal computations."""
        keys = [x.key if type(x) in (Source, Computation) else (type(x), repr(x)) for x in self.operands]
        return self.function, *keys

    def __call__(self):
        return self.function(*[x() if type(x) in (Source, Computation) else x for x in self.operands])

    @property
    def label(self):
        return f"what is computed of {next(x.label for x in self.operands if type(x) in (Source, Computation))}"


class Expectation:
    """The outcome of a computation on floats that a program is specialized to."""

    __slots__ = ("compute", "outcome")

    def __init__(self, compute, outcome):
        self.compute = compute
        self.outcome = outcome

    def mismatch(self):
        now = self.compute()
        return None if is_same_value(now, self.outcome) else f"{self.compute.label} was {self.outcome} and is {now}"


class FloatOutput:
    """A float that the function returns or stores; ``value`` is computed before each run."""

    __slots__ = ("compute", "value")

    def __init__(self, compute):
        self.compute = compute


class Floats:
    """The floats that a trace has replaced by proxies.

    Args:
        placeholder: returns a new input of the program, given the function that computes it.
    """

    def __init__(self, placeholder):
        self.placeholder = placeholder
        self.thread = threading.get_ident()
        self.is_active = True
        self.has_exchanged = False
        self.expectations = {}  # by key of the computation
        self.inputs = {}  # by key of the computation -> placeholder
        self.outputs = []

    def stand_in(self, place, value, label):
        """The proxy for a float, or a tuple with proxies; other values are returned unchanged."""
        if type(value) is float:
            self.has_exchanged = True
            return TracedFloat(self, Source(place, None, label), value)
        if type(value) is tuple and float in map(type, value):
            self.has_exchanged = True
            return tuple([TracedFloat(self, Source(place, nr, label), v) if type(v) is float else v
                          for nr, v in enumerate(value)])
        return value

    def is_tracing(self):
        return self.is_active and threading.get_ident() == self.thread

    def expect(self, compute, outcome):
        if self.is_tracing():
            self.expectations.setdefault(compute.key, Expectation(compute, outcome))

    def input_of(self, x):
        """The input of the program for a proxy."""
        key = x._compute.key
        if key not in self.inputs:
            self.inputs[key] = self.placeholder(x._compute)
        return self.inputs[key]

    def output(self, x):
        self.outputs.append(FloatOutput(x._compute))
        return self.outputs[-1]


class TracedFloat:
    """The proxy of a float. After tracing, and in other threads, it is an ordinary number."""

    __slots__ = ("_compute", "_floats", "_value")
    __class__ = property(lambda self: float)  # for isinstance

    def __init__(self, floats, compute, value):
        self._floats = floats
        self._compute = compute
        self._value = value

    def _constant(self):
        """The value. The program is specialized to it."""
        self._floats.expect(self._compute, self._value)
        return self._value

    def __getattr__(self, name):
        if not hasattr(float, name):
            raise AttributeError(f"'float' object has no attribute '{name}'")
        return getattr(self._constant(), name)

    def __bool__(self):
        self._floats.expect(Computation(bool, self._compute), bool(self._value))
        return bool(self._value)

    def conjugate(self):
        return self

    def as_traced(self):
        return self._floats.input_of(self)

    __jax_array__ = as_traced

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._constant(), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **settings):
        return getattr(ufunc, method)(*constants(inputs), **settings)

    def __array_function__(self, function, types, args, kwargs):
        return function(*constants(args), **dict(zip(kwargs, constants(kwargs.values()), strict=True)))

    def __reduce__(self):
        return float, (self._constant(),)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def constants(values):
    """The values, with proxies replaced by their floats."""
    return [x._constant() if type(x) is TracedFloat else type(x)(constants(x)) if type(x) in (list, tuple) else x
            for x in values]


def derive(function, *operands):
    """The result of an operator, at least one of whose operands is a proxy."""
    values = [x._value if type(x) is TracedFloat else x for x in operands]
    floats = next(x._floats for x in operands if type(x) is TracedFloat)
    value = function(*values)
    if not floats.is_tracing():
        return value
    if type(value) is not float:
        return function(*constants(operands))
    computes = [x._compute if type(x) is TracedFloat else x for x in operands]
    return TracedFloat(floats, Computation(function, *computes), value)


def _comparison(function):
    def method(self, other):
        if type(other) is not TracedFloat and type(other) not in NUMBERS:
            return NotImplemented
        operands = [x._compute if type(x) is TracedFloat else x for x in (self, other)]
        outcome = function(*[x._value if type(x) is TracedFloat else x for x in (self, other)])
        self._floats.expect(Computation(function, *operands), outcome)
        return outcome

    return method


def _binary(function, reflected):
    def method(self, other):
        if type(other) is not TracedFloat and type(other) not in NUMBERS:
            return NotImplemented
        return derive(function, other, self) if reflected else derive(function, self, other)

    return method


def _conversion(name):
    return lambda self, *args: getattr(self._constant(), name)(*constants(args))


for _name, _compare in COMPARISONS.items():
    setattr(TracedFloat, _name, _comparison(_compare))
for _name, _function in ARITHMETIC.items():
    setattr(TracedFloat, f"__{_name}__", _binary(_function, False))
    setattr(TracedFloat, f"__r{_name}__", _binary(_function, True))
for _name, _map in UNARY.items():
    setattr(TracedFloat, _name, lambda self, function=_map: derive(function, self))
for _name in CONVERSIONS:
    setattr(TracedFloat, _name, _conversion(_name))
