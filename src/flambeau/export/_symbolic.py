"""Evaluates a trace with symbolic sizes in place of the primes that it was traced with.

Models compute with sizes as integers, and make decisions based on them. So the model is traced with large primes as the
sizes of dynamic dimensions. In the trace, these primes and their multiples are replaced by symbols. What a trace does
not show (a mean over the batch divides by a plain number) is detected by comparing the exported program with the model
at several sizes.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal

from ..compiler._lifted import is_uniform, program_input

PRIMES = (10007, 10037, 10061, 10079, 10093, 10111, 10133, 10151)  # sizes of dynamic dimensions during tracing
INLINED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
           "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr", "remat": "jaxpr",
           "checkpoint": "jaxpr"}
CONSTANT = (
    "the model computes with a constant of {dtype}{shape}, whose size is that of a dynamic dimension. Pass it as an "
    "input, or leave that dimension static."
)
CONTROL = "the model has a loop ({name}) whose sizes depend on a dynamic dimension. Leave that dimension static."


class Sizes:
    """Evaluates a trace with symbols in place of primes.

    Args:
        table: {prime: symbolic dimension}.
        inputs: arrays for the inputs of the trace, by index.
    """

    def __init__(self, table, inputs):
        self.table = table
        self.inputs = inputs

    def exchange(self, value):
        """A parameter of an equation, or a shape, with primes replaced by symbols."""
        if type(value) is int:
            for prime, dim in self.table.items():
                if value and value % prime == 0:
                    return self.exchange(value // prime) * dim
            return value
        if type(value) is tuple:
            return tuple([self.exchange(v) for v in value])
        return value

    def has(self, shape):
        return any([n and n % prime == 0 for n in shape for prime in self.table])

    def number(self, value):
        """A number in the trace; symbolic if it is a multiple of a prime."""
        number = np.asarray(value)
        if number.dtype.kind not in "iuf" or number.ndim or not np.isfinite(number) or number != np.trunc(number):
            return value
        size = self.exchange(int(number))
        return value if type(size) is int else jnp.asarray(size).astype(number.dtype)

    def constant(self, array):
        """A constant of the trace; computed if it has a dynamic dimension."""
        array = np.asarray(array)
        if not self.has(array.shape):
            return array
        shape = self.exchange(array.shape)
        if is_uniform(array):
            return jnp.full(shape, array.flat[0])
        if array.ndim == 1 and array.dtype.kind in "iu" and (array == np.arange(len(array))).all():
            return lax.iota(array.dtype, shape[0])
        raise ValueError(CONSTANT.format(dtype=array.dtype, shape=list(shape)))

    def run(self, jaxpr, consts, arguments):
        """The results of a trace."""
        values = dict(zip(jaxpr.constvars, [self.constant(c) for c in consts], strict=True))
        values.update(zip(jaxpr.invars, arguments, strict=True))

        def read(v):
            return self.number(v.val) if isinstance(v, Literal) else values[v]

        for e in jaxpr.eqns:
            found = self.apply(e, [read(v) for v in e.invars])
            values.update(zip(e.outvars, found, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def apply(self, e, operands):
        """The results of an equation."""
        name = e.primitive.name
        if e.primitive is program_input:
            return [self.inputs[e.params["index"]]]
        if name in INLINED:
            inner = e.params[INLINED[name]]
            consts = getattr(inner, "consts", ())
            return self.run(getattr(inner, "jaxpr", inner), consts, operands)
        if any([hasattr(p, "jaxpr") or hasattr(p, "eqns") for p in e.params.values()]) and any(
                [self.has(v.aval.shape) for v in (*e.invars, *e.outvars)]):
            return self.scan(e, operands)
        found = e.primitive.bind(*operands, **{key: self.exchange(value) for key, value in e.params.items()})
        return found if e.primitive.multiple_results else [found]

    def scan(self, e, operands):
        if e.primitive is not lax.scan_p:
            raise ValueError(CONTROL.format(name=e.primitive.name))
        p = e.params
        constants, carry, rows = np.split(np.arange(len(operands)), np.cumsum([p["num_consts"], p["num_carry"]]))
        constants, carry, rows = [[operands[i] for i in part] for part in (constants, carry, rows)]

        def body(carry, rows):
            found = self.run(p["jaxpr"].jaxpr, p["jaxpr"].consts, [*constants, *carry, *rows])
            return found[:len(carry)], found[len(carry):]

        last, stacked = jax.lax.scan(body, carry, rows, length=self.exchange(p["length"]), reverse=p["reverse"])
        return [*last, *stacked]
