"""Programs: compiled traces, which run in place of a function."""

from __future__ import annotations

import functools
from types import NoneType

import numpy as np

from .. import _tape as tape
from .._device import CPU
from .._interrupts import defer_interrupts, is_interrupt
from .._many_arrays import are_equal_numbers
from .._modes import modes
from .._pick import picker, places_of_types
from .._slots import read_slot, set_slot
from .._tensor import Tensor, edge_of, reclaim, wrap, wrap_all
from ..autograd._writes import check_all_writable, check_writable, exchange_all, fill_all, write
from ..engines._views import replay
from ..functions.views import at_strides
from ..ops.shape import alias, as_strided
from ._contents import refill
from ._guards import Guards
from ._inputs import TensorInputs, signature
from ._lifted import NO_HOOKS, XLA, Lifted, RandomDraw, hooks_of, slot_a, slot_grad, slot_hooks
from ._loop import Loop
from ._places import MISSING, PlaceList
from ._pytree import unflatten, unflatten_keys
from ._recording import Recording
from ._records import (
    Alias,
    Assignment,
    DrawInput,
    FloatInput,
    GradAssignment,
    GradientInput,
    GradState,
    HookState,
    Output,
    Refill,
    TensorInput,
    Write,
)

NO_DOUBLE_BACKWARD = (
    "the backward of a compiled function cannot itself be differentiated (create_graph=True). Compile the function "
    "that calls grad() or backward(create_graph=True), or call the function that was compiled, eagerly."
)

WHOLE_VIEW: tuple = ((alias, {}, None),)  # the chain of a view of all elements


class Program:
    """A compiled recording. See _records.py for its parts."""

    @classmethod
    def of(cls, *call):
        """The program of a call. Floats from outside are inputs, unless tracing with proxies fails: then they are
        constants."""
        recording = Recording(*call, takes_floats=True)
        try:
            recording.run()
        except Exception as error:
            if not recording.trace.floats.has_exchanged or recording.trace.is_refusal(error) or is_interrupt(error):
                raise
        else:
            minds = recording.trace.watch.asks_for_types or recording.own_error is not None
            if not (minds and recording.trace.floats.has_exchanged):
                return cls(recording)
        recording.trace.release()
        recording = Recording(*call, takes_floats=False)
        recording.run()
        return cls(recording)

    def __init__(self, recording):
        trace = recording.trace
        self.name = trace.name
        self.error = recording.own_error  # of a volatile function: raised after the program has run
        self.guards = Guards(trace.watch)
        self.partition = recording.partition
        find = self.guards.find
        self.inputs = self.input_records(trace.inputs)
        self.grad_inputs = [x.index for x in recording.grad_inputs]
        self.sources = recording.sources  # for each gradient, the numbers of the results that it depends on
        self.writes = [Write(x.index, x.rebound) for x in recording.write_targets]
        self.tensor_inputs = TensorInputs([x for x in self.inputs if type(x) is TensorInput],
                                          [self.inputs[w.index] for w in self.writes if not w.rebind])
        self.places = PlaceList()
        number_of = self.places.number
        self.tensor_indices = [i for i, x in enumerate(self.inputs) if type(x) is TensorInput]
        numbers = {i: number_of(self.inputs[i].place) for i in self.tensor_indices}  # inputs get the first numbers
        self.spread = picker([numbers.get(i, -1) for i in range(len(self.inputs))])
        self.computations = [(i, x.compute) for i, x in enumerate(self.inputs) if type(x) in (FloatInput, DrawInput)]
        self.rebinds = [nr for nr, w in enumerate(self.writes) if w.rebind]
        self.exchanges = [nr for nr, w in enumerate(self.writes) if w.index in self.partition.layout.donatable]
        others = {*range(len(self.writes))} - {*self.rebinds, *self.exchanges}
        on_cpu = {nr for nr in others if self.inputs[self.writes[nr].index].signature[1] is CPU}
        self.cpu_fills, self.device_fills = sorted(on_cpu), sorted(others - on_cpu)
        self.pick_exchanged, self.pick_filled = picker(self.exchanges), picker(self.cpu_fills)
        self.pick_exchanged_inputs, self.pick_filled_inputs = [
            picker([self.writes[nr].index for nr in numbers]) for numbers in (self.exchanges, self.cpu_fills)]
        self.equal_inputs = [members for _, members in trace.equal.values()]
        self.equal = [picker([number_of(self.inputs[i].place) for i in members]) for members in self.equal_inputs]
        self.from_start = [number_of(find(x.tensor)) for x in trace.from_start]
        self.device = trace.device
        self.checks = list(zip([error for _, _, error in recording.checks], recording.lines, strict=True))
        self.hooks = [HookState(number_of(find(x.tensor)), x.state) for x in recording.hooks]
        self.has_hooks = any([x.hooks is not NO_HOOKS for x in self.hooks])
        self.pick_hooked = picker([x.nr for x in self.hooks])
        self.grads = [GradState(number_of(find(t)), grad is not None) for t, grad, _ in trace.grads.values()]
        self.pick_graded = picker([x.nr for x in self.grads])
        self.without_grad = [place for place, x in enumerate(self.grads) if not x.is_there]
        self.outputs = self.output_records(recording)
        self.creates_plain = self.device is not CPU and all([
            x.strides is None and x.cls is Tensor and x.device == self.device for x in self.outputs])
        self.differentiable = [nr for nr, x in enumerate(self.outputs) if x.differentiable]
        self.requires_grad = [nr for nr, x in enumerate(self.outputs) if x.requires_grad]
        self.retains_grad = [nr for nr, x in enumerate(self.outputs) if x.retains_grad]
        self.graph_freed = recording.graph_freed
        number = {id(t): nr for nr, t in enumerate(recording.outputs)}
        self.aliases = [self.alias_record(*found, number) for found in recording.aliases.values()]
        number.update((key, len(number)) for key in recording.aliases)
        self.results = [number[id(t)] for t in recording.results]
        self.pick_results = picker(self.results)
        self.tree = recording.tree
        self.shared = recording.shared
        self.assignments = [Assignment(*x) for x in recording.assignments]
        self.refills = [Refill(*x) for x in recording.refills]
        self.new_grads = [GradAssignment(number_of(find(t)), grad is not None) for t, grad in recording.new_grads]
        self.pick_owners = picker([x.nr for x in self.new_grads])
        self.removes_grads = not all([x.is_tensor for x in self.new_grads])
        self.float_outputs = [] if trace.floats is None else trace.floats.outputs
        compared = trace.watch.tensors.values() if trace.watch.compares_tensors else ()
        distinct = [number_of(find(t)) for t, *_ in compared]
        self.distinct, self.pick_distinct = len(distinct), picker(distinct)
        self.on_device = {i for i in self.tensor_indices if self.inputs[i].signature[1] is not CPU}
        self.guards.inputs = frozenset([id(self.inputs[i].place) for i in self.tensor_indices])
        self.guards.resolve()
        trace.release()

    @functools.cached_property
    def loop(self):
        """The program as the body of a loop; None if it cannot be one."""
        return Loop(self) if Loop.suits(self) else None

    def input_records(self, inputs):
        records, gradients = [], 0
        for x in inputs:
            if isinstance(x, Lifted):
                records.append(TensorInput(self.guards.find(x.tensor), signature(x.tensor)))
            elif isinstance(x, RandomDraw):
                records.append(DrawInput(x.draw))
            elif isinstance(x, FloatInput):
                records.append(x)
            else:
                records.append(GradientInput(gradients))
                gradients += 1
        return records

    def output_records(self, recording):
        differentiable = {id(t) for t in recording.differentiable}
        return [Output(type(t), t._rg, t.retains_grad, id(t) in differentiable, strides, device)
                for t, strides, device in zip(recording.outputs, recording.strides, recording.output_devices,
                                              strict=True)]

    def alias_record(self, t, base, chain, number):
        nr = number.get(id(base))
        place = self.guards.find(base) if nr is None else None
        if t is base:
            return Alias(place, nr, None, False)
        return Alias(place, nr, chain if not t._rg else chain or WHOLE_VIEW, not t._rg)

    # ---- whether it can be run

    def mismatch(self, arguments, containers):
        """Why the program cannot run with these arguments; None if it can."""
        reason = self.guards.mismatch(arguments, containers)
        if reason is not None:
            return reason
        found = self.find(arguments)
        if self.distinct and len({*map(id, self.pick_distinct(found))}) < self.distinct:
            return "two tensors that were distinct are the same"
        reason = self.tensor_inputs.mismatch(found[:len(self.tensor_indices)])
        if reason is not None:
            return self.guards.tensor_mismatch() or reason
        for pick in self.equal:
            if not are_equal_numbers(read_slot(slot_a, pick(found))):
                return "numbers that were equal, such as step counts, have become different"
        for nr in self.from_start:
            if found[nr].storage_offset():
                return "a tensor no longer starts at the beginning of its storage"
        if self.has_hooks or any(read_slot(slot_hooks, self.pick_hooked(found))):
            for x in self.hooks:
                if hooks_of(found[x.nr]) != x.hooks:
                    return "the hooks of a tensor have changed"
        without = places_of_types(read_slot(slot_grad, self.pick_graded(found)), (NoneType,))
        if without != self.without_grad:
            return f"a tensor had {'a' if {*without} - {*self.without_grad} else 'no'} gradient"
        return None

    def find(self, arguments):
        """The tensors at all places, those of the inputs first."""
        return self.places.find(arguments, self.guards.fast)

    # ---- running

    def run(self, arguments, containers):
        """Runs the program: returns the function's result, and makes all its changes."""
        found = self.gather(arguments)
        for i, compute in self.computations:
            found[1][i] = compute()
        for x in self.float_outputs:
            x.value = x.compute()
        self.partition.compile_forward()
        with defer_interrupts():  # while running, memory of the inputs may be reused already
            return self.run_on(*found, arguments, containers)

    def run_on(self, tensors, arrays, owners, arguments, containers):
        """Runs the program on the result of ``gather``."""
        blank = []
        if self.device is not CPU:
            self.enter_device(tensors, arrays, self.partition.donated)
            blank = self.clear_grads(owners)
        results, residuals = self.partition.run_forward(arrays)
        n, m = len(self.outputs), len(self.writes)
        checks = results[n + m:]
        if self.device is CPU:
            self.check(checks)
        elif checks or not XLA.is_verified():
            results = self.defer_checks(results[:n + m], self.partition.layout.results, checks)
        created, written = results[:n], results[n:n + m]
        saved = [residuals, self.inputs_of_backward(arrays)]
        arrays.clear()
        self.write(tensors, written)
        if self.device is not CPU:
            self.verify_written(self.partition.fetches)
        outputs = self.create(created, blank)
        if modes.grad:
            self.record(outputs, tensors, saved)
        outputs += [self.take(x, arguments, outputs) for x in self.aliases]
        return self.finish(self.pick_results(outputs), owners, containers)

    def gather(self, arguments):
        """(the tensors of all inputs; their arrays, None for other inputs; the tensors that get new gradients)."""
        found = self.find(arguments)
        own = found[:len(self.tensor_indices)]
        arrays = read_slot(slot_a, own)
        own.append(None)
        arrays.append(None)
        return self.spread(own), self.spread(arrays), self.pick_owners(found)

    def enter_device(self, tensors, arrays, donated):
        """Converts the arrays of tensors for the device; the memory of the `donated` ones may be reused."""
        self.check_writable(tensors)
        self.tensor_inputs.release()
        XLA.claim(arrays, donated, tensors)

    def clear_grads(self, owners):
        """Clears the gradients of tensors that get new ones, which frees memory for these.

        Returns tensor objects of unreferenced old gradients, which ``create`` reuses.
        """
        before = read_slot(slot_grad, owners)
        set_slot(slot_grad, owners, [None] * len(owners))
        return reclaim(before, self.device, XLA) if self.creates_plain else []

    def check(self, conditions):
        """Raises the error of the first failed condition."""
        if conditions and not conditions[0].all():
            first = int(conditions[0].argmin())
            raise self.checks[first][0](conditions[1 + first].item())

    def defer_checks(self, results, devices, checks):
        """The results on the device as lazy arrays, which raise the error of a check if it turns out to have failed."""
        places = [i for i in range(len(results)) if devices[i] is not CPU]
        lazy = XLA.defer_checks([results[i] for i in places], checks, self.checks, self.device)
        for i, array in zip(places, lazy, strict=True):
            results[i] = array
        return results

    def verify_written(self, on_cpu):
        """After a run has stored its results: raises the errors of checks that are known to have failed.

        Results on the CPU cannot raise errors later, so with them it waits for all checks.
        """
        if on_cpu:
            XLA.verify()
        else:
            XLA.verify_early()

    def defer_gradients(self, gradients):
        """``defer_checks`` for gradients; those on the CPU wait for all checks."""
        devices = self.partition.layout.gradients
        if CPU in devices:
            XLA.verify()
        return self.defer_checks(gradients, devices, [])

    def inputs_of_backward(self, arrays):
        """The inputs for backward; those on the CPU that this run writes to are copied."""
        backward_inputs = self.partition.backward_inputs
        if not backward_inputs:
            return []
        written = {w.index for w in self.writes if w.index not in self.on_device}
        return [arrays[i].copy() if i in written else arrays[i] for i in backward_inputs]

    def check_writable(self, tensors):
        """Raises unless the memory of all tensors that the program fills is writable."""
        check_all_writable(self.pick_filled_inputs(tensors))
        for nr in self.device_fills:
            check_writable(tensors[self.writes[nr].index])

    def write(self, tensors, arrays):
        if self.device is CPU:
            self.check_writable(tensors)
        if self.exchanges:
            exchange_all(self.pick_exchanged_inputs(tensors), self.name, self.pick_exchanged(arrays))
        fill_all(self.pick_filled_inputs(tensors), self.name, self.pick_filled(arrays))
        for nr in self.device_fills:
            write(tensors[self.writes[nr].index], self.name, take_over, arrays[nr])
        for nr in self.rebinds:
            t, array = tensors[self.writes[nr].index], arrays[nr]
            t.data = wrap(array if t.device is not CPU else self.own(array), t.device)
        self.tensor_inputs.note_exchanged()

    def create(self, arrays, blank):
        """The tensors of the outputs; `blank` tensor objects are reused."""
        if self.creates_plain:
            return wrap_all(arrays, self.device, XLA, blank)
        return [create(x, array if x.device is not CPU else self.own(array))
                for x, array in zip(self.outputs, arrays, strict=True)]

    def own(self, array):
        """A result on the CPU in memory of its own: host segments may return one array several times."""
        return array if self.device is CPU else np.array(array)

    def take(self, x, arguments, outputs):
        base = x.base(arguments, outputs)
        if x.chain is None:
            return base
        return view_of(base.detach() if x.detached else base, x.steps(outputs))

    def record(self, outputs, tensors, saved):
        """Connects the outputs to the graph."""
        for nr in self.requires_grad:
            outputs[nr]._rg = True
        if not self.differentiable:
            return
        roots = [outputs[nr] for nr in self.differentiable]
        node = CompiledFunctionBackward()
        tape.start(node, tuple(edge_of(tensors[i]) for i in self.grad_inputs), tuple(t._a for t in roots))
        node.program = self
        node.saved_arrays = None if self.graph_freed else saved
        written = {w.index for w in self.writes}
        node.guards = [tape.guard(tensors[i]) for i in self.partition.backward_inputs
                       if tensors[i] is not None and i not in written]
        for nr, t in enumerate(roots):
            t._node, t._nr, t._rg = node, nr, True
        for nr in self.retains_grad:
            outputs[nr].retain_grad()

    def finish(self, results, owners, containers):
        """Makes assignments, refills and gradient updates; returns the function's result."""
        tensors, shared = iter(results), dict.fromkeys(self.shared)
        result = unflatten(self.tree, tensors, containers, shared)
        for x in self.assignments:
            x.place.put(MISSING if x.tree is MISSING else unflatten(x.tree, tensors, containers, shared))
        for x in self.refills:
            container = containers[x.container] if type(x.container) is int else x.container
            keys = unflatten_keys(x.keys, tensors, containers, shared)
            refill(container, keys, unflatten(x.tree, tensors, containers, shared))
        if self.removes_grads:
            tensors = [next(tensors) if x.is_tensor else None for x in self.new_grads]
        set_slot(slot_grad, owners, [*tensors])
        return result


class CompiledFunctionBackward(tape.Node):
    """The only node of a compiled function in the graph."""

    def _pull(self, grads, graph):
        if self.saved_arrays is None:
            raise tape.graph_freed()
        if graph:
            raise RuntimeError(NO_DOUBLE_BACKWARD)
        for storage, version in self.guards:
            if storage.version != version:
                raise tape.changed_error(self, storage, version)
        program, (residuals, inputs) = self.program, self.saved_arrays
        partition = program.partition
        if partition.backward is None:
            return []
        if self._count == 1:
            grads = [grads]
        absent = {nr for nr, g in enumerate(grads) if g is None}
        grads = [tape.zeros_for(self, nr, False) if g is None else g for nr, g in enumerate(grads)]
        records = [program.inputs[i] for i in partition.backward_inputs]
        arrays = [XLA.concrete(grads[x.nr]) if type(x) is GradientInput else a
                  for x, a in zip(records, inputs, strict=True)]
        found = partition.run_backward(residuals, arrays)
        if program.device is not CPU and not XLA.is_verified():
            found = program.defer_gradients(found)
        if absent:
            found = [None if sources <= absent else g for g, sources in zip(found, program.sources, strict=True)]
        return found

    def _free(self):
        self.saved_arrays = self.guards = None


def view_of(base, chain):
    """The view of a tensor with the given steps; see ``replay``."""
    if not chain or chain[-1][0] is not as_strided:
        return replay(base, chain)
    *before, (_, places, _) = chain
    base = replay(base, before)
    return at_strides(base, places["size"], places["stride"], base.storage_offset() + places["offset"])


def create(x, array):
    """The tensor of an output."""
    if x.strides is not None:
        array = with_strides(array, x.strides) if x.device is CPU else XLA.with_layout(array, x.strides)
    t = wrap(array, x.device, None if x.device is CPU else XLA)
    return t if x.cls is Tensor else t.as_subclass(x.cls)


def take_over(array, new):
    """The new array, as the result of a write on a device."""
    return new


def with_strides(array, strides):
    """A copy of the array whose memory order follows the strides."""
    order = sorted(range(array.ndim), key=lambda axis: -strides[axis])
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
