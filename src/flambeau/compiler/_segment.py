"""Segments of a trace: forward and backward, compiled by XLA, and what the host computes."""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Literal

from .._device import CPU
from .._pick import picker
from ._host import HostProgram
from ._lifted import XLA, program_input

COMPILER_OPTIONS: dict[str, bool | int] = {}  # options of XLA
SMALL = 4  # inputs with up to this many elements are packed


class on_cpu:
    """A context for tracing: jax on the CPU, with 64 bits."""

    def __enter__(self):
        self.contexts = jax.enable_x64(True), jax.default_device(cpu_of_jax())
        for context in self.contexts:
            context.__enter__()

    def __exit__(self, *exc):
        for context in reversed(self.contexts):
            context.__exit__(*exc)


def cpu_of_jax():
    return jax.local_devices(backend="cpu")[0]


class Segment:
    """Equations of a trace that run as one XLA program.

    Args:
        closed: the trace.
        equations: the equations to run.
        variables, results: inputs and outputs of the program.
        device: where it runs.
        packable: inputs that are on the host anyway; small ones of the same shape are passed as one array.
        donated: {index of an input: index of the result that reuses its memory}, in the order of the inputs.
        kept: results that are kept for backward: no tensor gets their memory, as the user may write to it.
    """

    def __init__(self, closed, equations, variables, results, device, packable=(), donated=None, kept=()):
        self.donated = donated or {}
        first = [results[i] for i in self.donated.values()]  # jax pairs inputs and results of one kind in order
        unique = {id(v): v for v in [*first, *results]}
        number = {key: nr for nr, key in enumerate(unique)}
        places = [number[id(v)] for v in results]
        self.places = places if places != [*range(len(unique))] else None
        self.in_order = picker(places)
        self.jaxpr = closed.jaxpr.replace(eqns=equations, invars=variables, outvars=[*unique.values()])
        self.consts = closed.consts
        self.device = device
        self.packs = packs_of(variables, packable)
        packed = {place for *_, places in self.packs for place in places}
        self.others = [place for place in range(len(variables)) if place not in packed]
        self.pick_others = picker(self.others)
        self.executable = None
        alone = places_with_memory(results, {*variables, *closed.jaxpr.constvars, *kept})
        self.memory = [memory_of(v.aval) if i in alone else None for i, v in enumerate(results)]

    def __call__(self, arrays):
        """The results, which jax may still be computing."""
        arguments = [np.array([arrays[i] for i in places], dtype) for dtype, _, places in self.packs]
        arguments += self.pick_others(arrays)
        self.compile()
        found = self.executable(*arguments)
        return found if self.places is None else self.in_order(found)

    def compile(self):
        """Compiles the program on first use."""
        if self.executable is None:
            self.executable = self.compiled()

    def compiled(self):
        avals = [v.aval for v in self.jaxpr.invars]
        forms = [((len(places), *shape), dtype) for dtype, shape, places in self.packs]
        place = {own: len(forms) + i for i, own in enumerate(self.others)}
        forms += [(avals[i].shape, avals[i].dtype) for i in self.others]
        donated = tuple([place[i] for i in self.donated])
        device = cpu_of_jax() if self.device is CPU else XLA.jax_device(self.device)
        sharding = jax.sharding.SingleDeviceSharding(device)
        with on_cpu(), jax.default_device(device), XLA.lowering():  # the default device determines the kernels
            structs = [jax.ShapeDtypeStruct(*form, sharding=sharding) for form in forms]
            return XLA.compile_program(self.run, structs, donated, COMPILER_OPTIONS, self.parts)

    def parts(self):
        """The parts of the program's key."""
        return self.jaxpr, self.consts, self.packs, self.others

    def run(self, *arguments):
        """Evaluates the equations on traced arguments."""
        arrays = dict(zip(self.others, arguments[len(self.packs):], strict=True))
        for (*_, places), vector in zip(self.packs, arguments):
            arrays.update({i: v.astype(self.jaxpr.invars[i].aval.dtype) for i, v in zip(places, vector)})
        return jax.core.eval_jaxpr(self.jaxpr, self.consts, *[arrays[i] for i in range(len(arrays))])

    def run_on_host(self, arrays):
        """The computed results."""
        return jax.block_until_ready(self(arrays))  # the inputs must not change before it is done

    def compute(self, arrays):
        """The results as NumPy arrays in memory of their own."""
        return self.own_memory(self.run_on_host(arrays))

    def own_memory(self, results):
        """The first results as NumPy arrays in memory of their own."""
        found, arrays = [], {}
        for r, memory in zip(results, self.memory, strict=False):
            if memory is not None:
                found.append(over(r, *memory))
                arrays[id(r)] = found[-1]
            else:  # the same array as another result or an input
                found.append(np.array(arrays.get(id(r), r)))
        return found


def packs_of(variables, packable):
    """(dtype, shape, indices) of inputs that are passed as one array. Floats are converted to float64, which is exact.
    """
    found = {}
    for place, v in enumerate(variables):
        if v in packable and v.aval.size <= SMALL:
            dtype = np.dtype(v.aval.dtype)
            wide = np.dtype(np.float64) if jax.numpy.issubdtype(dtype, jax.numpy.floating) else dtype
            found.setdefault((wide, v.aval.shape), []).append(place)
    return [(*form, places) for form, places in found.items()]


def memory_of(aval):
    """(shape, dtype, C type) of the memory of an array; None if it is empty."""
    size = math.prod(aval.shape) * aval.dtype.itemsize
    return (aval.shape, np.dtype(aval.dtype), ctypes.c_char * size) if size else None


def over(array, shape, dtype, kind):
    """A writable NumPy array over the memory of an otherwise unreferenced jax array."""
    memory = kind.from_address(array.unsafe_buffer_pointer())
    memory.owner = array
    return np.ndarray(shape, dtype, memory)


def places_with_memory(results, variables):
    """The indices of results with memory of their own: no inputs, constants, or repeated results."""
    places, seen = set(), set(variables)
    for i, v in enumerate(results):
        if not isinstance(v, Literal) and v not in seen:
            places.add(i)
            seen.add(v)
    return places


def used_by(equations, results):
    """The variables that equations and results use, in order."""
    found = dict.fromkeys(v for e in equations for v in e.invars if not isinstance(v, Literal))
    found.update(dict.fromkeys(v for v in results if not isinstance(v, Literal)))
    return found


def inputs_used(inputs, equations, results):
    """The inputs that equations and results use."""
    used = used_by(equations, results)
    return [v for v in inputs if v in used]


def equations_for(equations, results):
    """The equations that the results depend on."""
    wanted, found = {v for v in results if not isinstance(v, Literal)}, []
    for equation in reversed(equations):
        if not wanted.isdisjoint(equation.outvars):
            found.append(equation)
            wanted.update(v for v in equation.invars if not isinstance(v, Literal))
    return found[::-1]


def merge_numbers(equations):
    """(equations, {variable: replacement}) without repeated computations on numbers.

    The steps of optimizers have many of these. Arrays with dimensions are left to XLA.
    """
    kept, known, same = [], {}, {}
    for e in equations:
        variables = [v if isinstance(v, Literal) else same.get(v, v) for v in e.invars]
        if any(v is not w for v, w in zip(variables, e.invars)):
            e = e.replace(invars=variables)
        if not e.effects and all([v.aval.shape == () for v in (*variables, *e.outvars)]):
            operands = [(repr(v.val), v.aval.dtype) if isinstance(v, Literal) else v for v in variables]
            first = known.setdefault((e.primitive, repr(e.params), *operands), e)
            if first is not e:
                same.update(zip(e.outvars, first.outvars, strict=True))
                continue
        kept.append(e)
    return kept, same


class Partition:
    """The segments of a trace: its forward, its backward, and what the host computes.

    The forward contains what its results need, the backward everything else; cheap values that only gradients need are
    recomputed there. The forward also returns *residuals*, which the backward takes before its own inputs.
    ``backward_inputs`` are indices of inputs of the program.

    A program on a device may also have tensors on the CPU, such as step counts. Results that depend only on those are
    computed on the host, without waiting for the device.

    Args:
        closed: the trace.
        layout: the devices of inputs and results; see ``Layout``.
    """

    def __init__(self, closed, layout):
        jaxpr, count = closed.jaxpr, len(layout.results)
        inputs = {e.outvars[0]: e.params["index"] for e in jaxpr.eqns if e.primitive is program_input}
        equations, same = merge_numbers([e for e in jaxpr.eqns if e.primitive is not program_input])
        outvars = [v if isinstance(v, Literal) else same.get(v, v) for v in jaxpr.outvars]
        results, gradients = outvars[:count], outvars[count:]
        self.layout = layout
        self.consts = closed.consts
        needed = equations_for(equations, results)
        variables = inputs_used(inputs, needed, results)
        self.whole = jaxpr.replace(eqns=needed, invars=variables, outvars=results)  # without gradients
        self.inputs_of_whole = [inputs[v] for v in variables]
        self.host_inputs = {index for index, device in enumerate(layout.inputs) if device is CPU}
        on_host = {v for v, index in inputs.items() if index in self.host_inputs}
        self.on_host = self.results_on_host(equations, results, {*on_host, *jaxpr.constvars})
        is_on_host = set(self.on_host)
        self.on_device = [i for i in range(count) if i not in is_on_host]
        self.fetches = [place for place, i in enumerate(self.on_device) if layout.results[i] is CPU]
        hosted = [results[i] for i in self.on_host]
        results = [results[i] for i in self.on_device]
        forward = equations_for(equations, results)
        in_forward = {id(e) for e in forward}
        backward = [e for e in equations_for(equations, gradients) if id(e) not in in_forward]
        known = {v for e in backward for v in e.outvars} | set(jaxpr.constvars)
        carried = [v for v in used_by(backward, gradients) if v not in known]
        residuals = [v for v in carried if v not in inputs]
        forward_inputs = inputs_used(inputs, forward, results + residuals)
        backward_inputs = [v for v in carried if v in inputs]
        self.forward_inputs = [inputs[v] for v in forward_inputs]
        self.backward_inputs = [inputs[v] for v in backward_inputs]
        self.pick_inputs, self.host_places = picker(self.forward_inputs), self.places_on_host(self.forward_inputs)
        result_of = {i: place for place, i in enumerate(self.on_device)}
        donated = {place: result_of[layout.donatable[i]] for place, i in enumerate(self.forward_inputs)
                   if i in layout.donatable and i not in self.backward_inputs}
        self.donated = np.array([self.forward_inputs[place] for place in donated], np.intp)
        device = layout.device
        self.forward = Segment(closed, forward, forward_inputs, results + residuals, device, on_host, donated,
                               kept=residuals)
        self.backward = self.host = None
        if gradients:
            self.backward = Segment(closed, backward, residuals + backward_inputs, gradients, device)
        if hosted:
            equations = equations_for(equations, hosted)
            variables = inputs_used(inputs, equations, hosted)
            self.pick_host = picker([inputs[v] for v in variables])
            suits = HostProgram.suits(equations) and not used_by(equations, hosted).keys() & {*jaxpr.constvars}
            self.host = (HostProgram(equations, variables, hosted) if suits
                         else Segment(closed, equations, variables, hosted, CPU, on_host))
            place = {i: nr for nr, i in enumerate([*self.on_device, *self.on_host])}
            self.in_order = picker([place[i] for i in range(count)])  # of results on the device, then on the host
        self.segments_of_forward = [x for x in (self.forward, self.host) if type(x) is Segment]

    def results_on_host(self, equations, results, on_host):
        """The indices of results on the CPU that do not depend on anything on the device."""
        if self.layout.device is CPU:
            return []
        known = set(on_host)
        for e in equations:
            if all([isinstance(v, Literal) or v in known for v in e.invars]):
                known.update(e.outvars)
        return [place for place, (v, device) in enumerate(zip(results, self.layout.results, strict=True))
                if device is CPU and (isinstance(v, Literal) or v in known)]

    def compile_forward(self):
        """Compiles all segments that ``run_forward`` runs."""
        for segment in self.segments_of_forward:
            segment.compile()

    def run_forward(self, arrays):
        """(results, residuals) for the arrays of all inputs."""
        found = self.run(self.forward, self.pick_inputs(arrays), self.host_places)
        count = len(self.on_device)
        if self.layout.device is CPU:
            return self.forward.own_memory(found[:count]), found[count:]
        results, residuals = (found[:count], found[count:]) if count < len(found) else (found, [])
        for i in self.fetches:
            results[i] = np.array(results[i])
        if self.host is not None:
            results += self.host.compute(self.pick_host(arrays))
            results = self.in_order(results)
        return results, residuals

    def run_backward(self, residuals, arrays):
        """The gradients, given the residuals and the arrays of ``backward_inputs``."""
        host_places = [len(residuals) + place for place in self.places_on_host(self.backward_inputs)]
        found = self.run(self.backward, [*residuals, *arrays], host_places)
        if self.layout.device is CPU:
            return self.backward.own_memory(found)
        return [np.array(g) if device is CPU else g for g, device in zip(found, self.layout.gradients, strict=True)]

    def places_on_host(self, indices):
        """The positions, among these inputs, of those on the CPU."""
        return [place for place, i in enumerate(indices) if i in self.host_inputs]

    def run(self, segment, arrays, host_places):
        if self.layout.device is CPU:
            return segment.run_on_host(arrays)
        for place in host_places:
            if np.ndim(arrays[place]):  # the device may read it after it was written to
                arrays[place] = np.array(arrays[place])
        return segment(arrays)


class Layout(NamedTuple):
    """The device of a program, and those of its inputs, of its forward results and of its gradients.

    ``donatable`` is {index of an input whose memory may be reused: index of the result that replaces it}.
    """

    device: Any
    inputs: list
    results: list
    gradients: list
    donatable: dict
