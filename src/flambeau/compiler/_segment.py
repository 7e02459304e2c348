"""A trace's equations, cut in two: the forward and the backward of a program, each compiled by XLA."""

from __future__ import annotations

import ctypes
import math

import jax
import numpy as np
from jax.extend.core import Literal

from ._lifted import program_input

COMPILER_OPTIONS: dict[str, bool | int] = {}  # XLA's, where its defaults are not wanted


class on_cpu:
    """jax as programs need it here: on the CPU, with 64 bits."""

    def __enter__(self):
        self.contexts = jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0])
        for context in self.contexts:
            context.__enter__()

    def __exit__(self, *exc):
        for context in reversed(self.contexts):
            context.__exit__(*exc)


class Segment:
    """Equations of a trace that run as one XLA program, from arrays for `variables` to arrays for `results`."""

    def __init__(self, closed, equations, variables, results):
        jaxpr = closed.jaxpr.replace(eqns=equations, invars=variables, outvars=results)

        def run(arrays):
            return jax.core.eval_jaxpr(jaxpr, closed.consts, *arrays)

        self.run = jax.jit(run, compiler_options=COMPILER_OPTIONS)
        alone = unshared(results, {*variables, *jaxpr.constvars})
        self.memory = [memory_of(v.aval) if i in alone else None for i, v in enumerate(results)]

    def __call__(self, arrays):
        with on_cpu():
            results = self.run(arrays)
        return jax.block_until_ready(results)  # what the program reads must not change before it is done

    def owned(self, results):
        """The results, from the first on, as NumPy arrays with memory of their own."""
        return [np.array(r) if memory is None else over(r, *memory)
                for r, memory in zip(results, self.memory, strict=False)]


def memory_of(aval):
    """(shape, dtype, C type) of the memory of an array; None if it has none."""
    size = math.prod(aval.shape) * aval.dtype.itemsize
    return (aval.shape, np.dtype(aval.dtype), ctypes.c_char * size) if size else None


def over(array, shape, dtype, kind):
    """A NumPy array over the memory of a jax array that nobody else holds, so that it may be written to."""
    memory = kind.from_address(array.unsafe_buffer_pointer())
    memory.owner = array
    return np.ndarray(shape, dtype, memory)


def unshared(results, variables):
    """The places of results whose memory is not that of an input, of a constant or of a result before them."""
    places, seen = set(), set(variables)
    for i, v in enumerate(results):
        if not isinstance(v, Literal) and v not in seen:
            places.add(i)
            seen.add(v)
    return places


def used_by(equations, results):
    """The variables that equations and results refer to, in order."""
    found = dict.fromkeys(v for e in equations for v in e.invars if not isinstance(v, Literal))
    found.update(dict.fromkeys(v for v in results if not isinstance(v, Literal)))
    return found


def needed(equations, results):
    """The equations on which the results depend."""
    wanted, found = {v for v in results if not isinstance(v, Literal)}, []
    for equation in reversed(equations):
        if not wanted.isdisjoint(equation.outvars):
            found.append(equation)
            wanted.update(v for v in equation.invars if not isinstance(v, Literal))
    return found[::-1]


class Partition:
    """The forward and the backward segment of a trace.

    To the forward belongs what its `count` results need, to the backward all the rest: what is cheap to have and only
    gradients need is not carried over. The forward also returns *residuals* for the backward, which takes them before
    its own inputs. ``forward_inputs`` and ``backward_inputs`` are indices of inputs of the program.
    """

    def __init__(self, closed, count):
        jaxpr = closed.jaxpr
        inputs = {e.outvars[0]: e.params["index"] for e in jaxpr.eqns if e.primitive is program_input}
        equations = [e for e in jaxpr.eqns if e.primitive is not program_input]
        results, gradients = list(jaxpr.outvars[:count]), list(jaxpr.outvars[count:])
        forward = needed(equations, results)
        in_forward = {id(e) for e in forward}
        backward = [e for e in needed(equations, gradients) if id(e) not in in_forward]
        known = {v for e in backward for v in e.outvars} | set(jaxpr.constvars)
        carried = [v for v in used_by(backward, gradients) if v not in known]
        residuals = [v for v in carried if v not in inputs]
        used = used_by(forward, results + residuals)
        forward_inputs = [v for v in inputs if v in used]
        backward_inputs = [v for v in carried if v in inputs]
        self.count = count
        self.forward_inputs = [inputs[v] for v in forward_inputs]
        self.forward = Segment(closed, forward, forward_inputs, results + residuals)
        self.backward_inputs = [inputs[v] for v in backward_inputs]
        self.backward = Segment(closed, backward, residuals + backward_inputs, gradients) if gradients else None

    def run_forward(self, arrays):
        """(results, residuals) for the arrays of all inputs"""
        found = self.forward([arrays[i] for i in self.forward_inputs])
        return self.forward.owned(found[:self.count]), found[self.count:]

    def run_backward(self, residuals, arrays):
        """The gradients for the residuals of a forward and the arrays of ``backward_inputs``."""
        return self.backward.owned(self.backward([*residuals, *arrays]))
