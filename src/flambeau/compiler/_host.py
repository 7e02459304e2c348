"""Equations on a few numbers, such as step counts, computed by NumPy: faster than starting a program."""

import numpy as np
from jax.extend.core import Literal

from .._pick import picker

OPERATIONS = {  # by name of the primitive: a function of its parameters
    "add": lambda params: np.add,
    "sub": lambda params: np.subtract,
    "mul": lambda params: np.multiply,
    "convert_element_type": lambda params: lambda x: x.astype(params["new_dtype"]),
    "reshape": lambda params: lambda x: x.reshape(params["new_sizes"]),
}


class HostProgram:
    """Equations of a trace as NumPy calls.

    Args:
        equations: equations that ``suits`` accepts.
        variables, results: inputs and outputs.
    """

    def __init__(self, equations, variables, results):
        self.variables = variables
        self.calls = [(OPERATIONS[e.primitive.name](e.params), e.invars, e.outvars[0]) for e in equations]
        used = [v for _, operands, _ in self.calls for v in operands] + results
        new = {id(e.outvars[0]) for e in equations if e.primitive.name != "reshape"}
        self.copies = {id(v): id(v) not in new for v in results}
        number = {key: nr for nr, key in enumerate(self.copies)}
        self.pick_results = picker([number[id(v)] for v in results])
        self.constants = {id(v): np.asarray(v.val, v.aval.dtype) for v in used if isinstance(v, Literal)}

    @staticmethod
    def suits(equations):
        return all([e.primitive.name in OPERATIONS and all([v.aval.shape == () for v in (*e.invars, *e.outvars)])
                    for e in equations])

    def compute(self, arrays):
        """The results for NumPy arrays and floats, in memory of their own; identical results share an array."""
        inputs = zip(self.variables, arrays, strict=True)
        values = self.constants | {id(v): np.asarray(a, v.aval.dtype) for v, a in inputs}
        for call, operands, result in self.calls:
            values[id(result)] = np.asarray(call(*[values[id(v)] for v in operands]))
        return self.pick_results([np.array(values[key]) if copies else values[key]
                                  for key, copies in self.copies.items()])
