"""Many steps in one dispatch: a program as the body of a loop on the device, over stacked batches."""

import jax
import jax.numpy as jnp
import numpy as np

from .._device import CPU
from .._interrupts import defer_interrupts
from .._tensor import Tensor, wrap
from ._lifted import XLA
from ._places import Argument, Gradient
from ._pytree import ArgumentContainer, Tree, unflatten
from ._records import DrawInput
from ._segment import COMPILER_OPTIONS, cpu_of_jax, on_cpu


class Loop:
    """A program that runs for many steps at once.

    The tensors that it writes to are passed from each step to the next, and so are gradients, of which the last ones
    stay. All other inputs, such as a learning rate, are the same in every step.

    Args:
        program: a program that ``suits`` accepts.
    """

    def __init__(self, program):
        self.program = program
        self.state = [w.index for w in program.writes]
        self.draws = [i for i, x in enumerate(program.inputs) if type(x) is DrawInput]
        self.batches = [i for i in program.tensor_indices if isinstance(program.inputs[i].place, Argument)]
        varying = {*self.state, *self.draws, *self.batches}
        self.fixed_inputs = [i for i in program.partition.inputs_of_whole if i not in varying]
        last = len(program.results) - len(program.new_grads)
        self.return_places, self.gradients = program.results[:last], program.results[last:]
        self.executables = {}  # by number of steps

    @staticmethod
    def suits(program):
        """Whether a step changes nothing but the tensors that it writes to, so that another one can follow."""
        places = [program.inputs[i].place for i in program.tensor_indices]
        had_grad = {x.nr for x in program.grads if x.is_there}
        return not (
            program.assignments or program.refills or program.float_outputs or program.aliases or program.rebinds
            or program.partition.backward is not None or program.guards.volatile is not None
            or returns_arguments(program.tree)
            or any([isinstance(place, Gradient) for place in places])
            or any([isinstance(program.inputs[w.index].place, Argument) for w in program.writes])
            or program.device_fills
            or any([x.cls is not Tensor or x.device is not program.device for x in program.outputs])
            or not all([x.is_tensor and x.nr in had_grad for x in program.new_grads])
            or not all([stay_equal(program, members) for members in program.equal_inputs])
        )

    def run(self, batches, count, arguments):
        """The stacked results of all steps. `arguments` are those of the first one."""
        program = self.program
        tensors, arrays, owners = program.gather(arguments)
        for i in self.batches:
            arrays[i] = batches[program.inputs[i].place.nr]._a
        for i in program.partition.host_inputs:  # the device may read it after it was written to
            arrays[i] = None if arrays[i] is None else np.array(arrays[i])
        for i, compute in program.computations:
            if i not in self.draws:
                arrays[i] = np.float64(compute())
        for i, drawn in zip(self.draws, zip(*[self.draw() for _ in range(count)], strict=True)):
            arrays[i] = np.stack(drawn)
        compiled = self.program_for(count, arrays)
        with defer_interrupts():  # as in Program.run
            if program.device is not CPU:
                donated = np.array([i for i in self.state if i in program.on_device], np.intp)
                program.enter_device(tensors, arrays, donated)
                program.clear_grads(owners)
            return self.finish(compiled(*[[arrays[i] for i in group] for group in self.groups]), tensors, owners)

    @property
    def groups(self):
        return self.state, self.fixed_inputs, [*self.draws, *self.batches]

    def draw(self):
        """The random numbers of one step."""
        return [self.program.inputs[i].compute() for i in self.draws]

    def program_for(self, count, arrays):
        if count not in self.executables:
            device = self.program.device
            device = cpu_of_jax() if device is CPU else XLA.jax_device(device)
            sharding = jax.sharding.SingleDeviceSharding(device)
            forms = [[jax.ShapeDtypeStruct(arrays[i].shape, arrays[i].dtype, sharding=sharding) for i in group]
                     for group in self.groups]
            jitted = jax.jit(self.trace, donate_argnums=0 if self.program.device is not CPU else (),
                             compiler_options=COMPILER_OPTIONS)
            with on_cpu(), jax.default_device(device), XLA.lowering():
                self.executables[count] = jitted.lower(*forms).compile()
        return self.executables[count]

    def trace(self, state, fixed, stacked):
        """(state and gradients after the last step, the first failed conditions, stacked results)."""
        partition, (_, *others) = self.program.partition, self.groups
        jaxpr = partition.whole

        def body(carry, now):
            arrays = dict(zip(self.state, carry[0], strict=True))
            for indices, values in zip(others, (fixed, now), strict=True):
                arrays.update(zip(indices, values, strict=True))
            results = jax.core.eval_jaxpr(jaxpr, partition.consts, *[arrays[i] for i in partition.inputs_of_whole])
            n, m = len(self.program.outputs), len(self.program.writes)
            new = [jnp.asarray(r, a.dtype) for r, a in zip(results[n:n + m], carry[0], strict=True)]
            gradients = [jnp.asarray(results[nr], a.dtype) for nr, a in zip(self.gradients, carry[1], strict=True)]
            return (new, gradients), ([results[nr] for nr in self.return_places], results[n + m:])

        avals = [jaxpr.outvars[nr].aval for nr in self.gradients]
        start = list(state), [jnp.zeros(a.shape, a.dtype) for a in avals]
        (state, gradients), (returned, checks) = jax.lax.scan(body, start, stacked)
        return state, gradients, first_failures(checks), returned

    def finish(self, results, tensors, owners):
        """Stores the final state, and returns the results."""
        program = self.program
        state, gradients, checks, returned = results
        devices = [*program.partition.layout.results[len(program.outputs):][:len(state)],
                   *[program.device] * (len(gradients) + len(returned))]
        arrays = [np.array(a) if device is CPU else a
                  for a, device in zip((*state, *gradients, *returned), devices, strict=True)]
        if program.device is CPU:
            program.check([np.array(a) for a in checks])
        elif checks or not XLA.is_verified():
            arrays = program.defer_checks(arrays, devices, checks)
        program.write(tensors, arrays[:len(state)])
        if program.device is not CPU:
            program.verify_written(CPU in devices)
        engine = None if program.device is CPU else XLA
        created = [wrap(a, program.device, engine) for a in arrays[len(state):]]
        for t, gradient in zip(owners, created):
            t._grad = gradient
        return unflatten(program.tree, iter(created[len(owners):]), shared=dict.fromkeys(program.shared))


def returns_arguments(tree):
    """Whether the result contains a container from the arguments."""
    return type(tree) is ArgumentContainer or (type(tree) is Tree and any(map(returns_arguments, tree.children)))


def stay_equal(program, members):
    """Whether inputs that are equal stay equal after a step: they are all written the same value, or not at all."""
    results = program.partition.whole.outvars[len(program.outputs):]
    written = {w.index: v for w, v in zip(program.writes, results)}
    return len({id(written.get(i)) for i in members}) == 1


def first_failures(conditions):
    """For conditions at all steps, and the values that violate them: those of the first failure."""
    if not conditions:
        return []
    holds, *wrong = conditions
    return [jnp.all(holds, 0), *[values[jnp.argmin(of_steps)] for values, of_steps in zip(wrong, holds.T, strict=True)]]
