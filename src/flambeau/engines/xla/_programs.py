"""Recorded calls as XLA programs, cached by their structure."""

import collections
import itertools
import sys

import jax.numpy as jnp

from ..._precision import precision
from ._calls import ARRAY
from ._digests import trace_context
from ._lowering import lowering
from ._stand_ins import compile_program

MOST_FAMILIES = 512  # structures whose programs are cached
COMPILER_OPTIONS = {"xla_allow_excess_precision": False}  # values stored in half precision must be rounded


class Statistics:
    """The numbers of compilations and of runs."""

    compilations = runs = 0


class Family:
    """The programs of one structure: recorded calls, and which of their results are returned.

    They differ in the numbers that are constants, and in the inputs whose memory is reused for results.

    Args:
        calls: (signature, places of its inputs) pairs. Places from 0 on are results in the order of the calls; -1, -2
            and so on are arrays from outside.
        outputs: places of the results to return.
    """

    def __init__(self, calls, outputs):
        self.outputs = outputs
        self.steps = needed_steps(calls, outputs)
        self.leaves = sorted({p for step in self.steps for p in step.inputs if p < 0}, reverse=True)
        avals = [aval for signature, _ in calls for aval in signature.avals]
        of_inputs = {p: aval for step in self.steps for p, aval in zip(step.inputs, step.signature.inputs)}
        of_outputs = {p: avals[p] for p in outputs}
        self.forms = {p: (aval.shape, aval.dtype) for p, aval in [*of_inputs.items(), *of_outputs.items()]}
        self.room = collections.Counter([self.forms[p] for p in outputs])
        forms = [(p, self.forms[p]) for p in self.leaves]
        self.candidates = [(p, form) for p, form in forms if form in self.room]  # inputs that could be donated
        self.varying = []  # indices of numbers that are inputs
        self.numbers = None  # of the last run
        self.programs = {}
        self.sightings = collections.Counter()  # of inputs that could be donated

    def prepare(self, leaves, numbers):
        """Compiles the program for these inputs; returns a function that runs it.

        The function empties the list of leaves, and returns (results, whether conditions hold, the values that violate
        them): arrays that may still be being computed.
        """
        self.note_numbers(numbers)
        constants = list(numbers)
        for i in self.varying:
            constants[i] = None
        program = self.program_for(tuple(constants), self.donatable(leaves))
        arguments = ([leaves[-1 - p] for p in program.donated], [leaves[-1 - p] for p in program.others],
                     [numbers[i] for i in self.varying])
        executable = program.compile(arguments)

        def run():
            leaves.clear()
            Statistics.runs += 1
            found, *conditions = executable(*arguments)
            return [found[i] for i in program.order], *conditions

        return run

    def note_numbers(self, numbers):
        """Makes numbers that have changed inputs. (If a call decides something by a number, its signature changes
        instead.)"""
        if self.numbers is not None and numbers != self.numbers:
            changed = {i for i, (now, before) in enumerate(zip(numbers, self.numbers, strict=True)) if now != before}
            self.varying = sorted({*self.varying, *changed})
        self.numbers = numbers

    def donatable(self, leaves):
        """The places of inputs without other references, as many as there are results of their shape and dtype."""
        room, found = self.room.copy(), []
        for p, form in self.candidates:
            if room[form] > 0 and sys.getrefcount(leaves[-1 - p]) <= ALONE and type(leaves[-1 - p]) is ARRAY:
                room[form] -= 1
                found.append(p)
        return tuple(found)

    def program_for(self, constants, donatable):
        """A program that donates these inputs; when they are first seen, an existing one that donates fewer will do."""
        found = self.programs.get((constants, donatable))
        if found is None:
            self.sightings[donatable] += 1
            if self.sightings[donatable] == 1:
                allowed = set(donatable)
                fits = [p for (known, donated), p in self.programs.items()
                        if known == constants and allowed.issuperset(donated)]
                if fits:
                    return max(fits, key=lambda program: len(program.donated))
            found = self.programs[constants, donatable] = Program(self, constants, donatable)
        return found

    def replacements(self, donated):
        """{input: output that reuses its memory}: an output of the same form, of the last call that uses the input.

        State is last read where it is replaced; for another result in its memory, XLA would have to copy it.
        """
        missing, outputs, found = set(donated), set(self.outputs), {}
        for step in reversed(self.steps):
            room = collections.defaultdict(list)
            for p in reversed(step.results):
                if p in outputs:
                    room[self.forms[p]].append(p)
            for p in step.inputs if room else ():
                if p in missing and room[self.forms[p]]:
                    found[p] = room[self.forms[p]].pop()
                    missing.remove(p)
        return found


def references_of_our_own():
    """The reference count, in ``donatable``, of an array without other references."""
    leaves = [object()]
    return sys.getrefcount(leaves[-1])


ALONE = references_of_our_own()


class Step:
    """A call in a program."""

    def __init__(self, signature, inputs, first_result, first_number):
        self.signature = signature
        self.inputs = inputs
        self.first_result = first_result
        self.numbers = range(first_number, first_number + len(signature.numbers))

    @property
    def results(self):
        return range(self.first_result, self.first_result + len(self.signature.avals))


def needed_steps(calls, outputs):
    """The calls that the outputs, or conditions on elements, depend on."""
    result_counts = itertools.accumulate((len(s.avals) for s, _ in calls), initial=0)
    number_counts = itertools.accumulate((len(s.numbers) for s, _ in calls), initial=0)
    steps = [Step(s, places, r, n) for (s, places), r, n in zip(calls, result_counts, number_counts)]
    needed, found = set(outputs), []
    for step in reversed(steps):
        if step.signature.errors or not needed.isdisjoint(step.results):
            found.append(step)
            needed.update(step.inputs)
    return found[::-1]


class Program:
    """A compiled sequence of steps.

    Args:
        family: its structure.
        constants: the numbers; None for those that are inputs.
        donated: places of the inputs whose memory is reused.
    """

    def __init__(self, family, constants, donated):
        self.family = family
        self.constants = constants
        replacements = family.replacements(donated)
        self.donated = [*replacements, *[p for p in donated if p not in replacements]]
        self.outputs = dict.fromkeys([*replacements.values(), *family.outputs])  # jax pairs equal forms in order
        place = {p: i for i, p in enumerate(self.outputs)}
        self.order = [place[p] for p in family.outputs]
        self.others = [p for p in family.leaves if p not in set(donated)]
        self.executable = None

    def compile(self, arguments):
        """The executable, for arguments like these, the first of which are donated."""
        if self.executable is None:
            with lowering():
                self.executable = compile_program(self.trace, arguments, 0, COMPILER_OPTIONS, self.parts)
        return self.executable

    def parts(self):
        """The parts of its cache key."""
        steps = [(s.signature.digest, s.inputs, s.first_result, s.numbers.start) for s in self.family.steps]
        return steps, self.constants, self.family.varying, self.donated, self.others, [*self.outputs], precision.key

    def trace(self, donated, others, varying):
        Statistics.compilations += 1
        numbers = dict(zip(self.family.varying, varying, strict=True))
        values = dict(zip((*self.donated, *self.others), (*donated, *others), strict=True))
        conditions = []
        for step in self.family.steps:
            arrays = [values[p] for p in step.inputs]
            own = [numbers[i] for i in step.numbers if i in numbers]
            constants = tuple([self.constants[i] for i in step.numbers])
            results, checks = step.signature.jitted_call(constants, precision.key, arrays, own)
            values.update(zip(step.results, results, strict=True))
            conditions += checks
        return [values[p] for p in self.outputs], *as_few_arrays(conditions)


def as_few_arrays(conditions):
    """(whether they hold, the values that violate them) of conditions, in few arrays, each of which has a cost."""
    if not conditions:
        return [], []
    holds, wrong = zip(*conditions, strict=True)
    if all([jnp.issubdtype(x.dtype, jnp.integer) for x in wrong]):
        wrong = jnp.stack([x.astype(jnp.int64) for x in wrong])
    return [jnp.stack(holds)], wrong


class Families:
    """A cache of the most recently used families, by structure."""

    def __init__(self):
        self.families = collections.OrderedDict()

    def find(self, calls, outputs):
        key = calls, outputs, precision.key, trace_context()  # with the default device and other settings of jax
        family = self.families.get(key)
        if family is None:
            family = self.families[key] = Family(calls, outputs)
            if len(self.families) > MOST_FAMILIES:
                self.families.popitem(last=False)
        else:
            self.families.move_to_end(key)
        return family
