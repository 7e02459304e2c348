"""Programs: a function as it was traced once, compiled, and run in its place."""

from __future__ import annotations

import jax
import numpy as np

from .. import _tape as tape
from .._cells import in_memory
from .._modes import modes
from .._tensor import Tensor, edge_of, replay, storage_of, wrap
from ..autograd.engine import Pass
from ..functions._args import check_writable
from ..ops.shape import alias
from ._contents import refill
from ._guards import Guards
from ._lifted import Lifted, hooks_of, lies_in_rows, overlap
from ._nest import Like, Nest, containers_in, flatten, unflatten
from ._places import MISSING
from ._segment import Halves, on_cpu
from ._trace import Trace

NO_DOUBLE_BACKWARD = (
    "the backward of a compiled function cannot itself be differentiated (create_graph=True). Compile the function "
    "that calls grad() or backward(create_graph=True), or call the function as it was before compile()."
)


ALIAS: tuple = ((alias, {}, None),)  # the step of a view that shows all


class Recording:
    """One trace of a function: what comes out of it, and what becomes of that.

    Args:
        function: to be traced.
        name: of the function, for messages.
        args, kwargs: what it is called with.
        tensors: the tensors among these.
    """

    def __init__(self, function, name, args, kwargs, tensors):
        self.trace = trace = Trace(name, tensors, (args, kwargs))
        trace.watch.reached(function, name)
        self.outcome = []  # the tensors that come out, in order: results, then what is set, then gradients
        self.flattened = set()  # ids of objects that were taken apart
        self.spent = False  # whether the function itself has used up its graph

        def body():
            self.note(function(*args, **kwargs))
            arrays = [t._a for t in self.made] + [x.tensor._a for x in self.written]
            trace.check_draws()
            self.required = list(trace.required)
            checks = [v for holds, wrong, _ in self.required for v in (holds, wrong)]
            return arrays + checks + self.gradients()

        with on_cpu(), trace.running():
            closed = jax.make_jaxpr(body)()
        self.halves = Halves(closed, len(self.made) + len(self.written) + 2 * len(self.required))

    def note(self, result):
        """Notes the result, and what the function has set, accumulated and written outside."""
        trace = self.trace
        self.nest = self.flat(result)
        places, refilled = trace.watch.changed()
        self.sets = [(place, MISSING if value is MISSING else self.flat(value)) for place, value in places]
        self.refills = [(container, now.keys, self.flat(now.elements.value if now.elements else now.values))
                        for container, now in refilled]
        self.grads = []
        for t, before, now in trace.grads.values():
            if now is not before:
                self.grads.append((t, now is not None))
                self.outcome.extend([] if now is None else [now])
        trace.check()
        self.hooks = list(trace.hooks.values()) if trace.differentiates else []
        self.written = [x for x in trace.lifted.values() if x.written]
        self.made = list({id(t): t for t in self.outcome if self.is_made(t)}.values())
        self.share()
        self.layouts = [(nr, in_memory(t).strides) for nr, t in enumerate(self.made) if not lies_in_rows(in_memory(t))]
        self.found = {id(t): (t, *(self.viewed(t) or (t, ()))) for t in self.outcome if not self.is_made(t)}

    def flat(self, value):
        """The nest of a value that comes out."""
        return flatten(value, self.outcome, self.keep)

    def keep(self, value):
        """What stands for a container from outside, or for an object that the function has made; None for others."""
        watch = self.trace.watch
        kept = watch.keep(value)
        if kept is None and watch.is_new(value) and id(value) not in self.flattened:
            self.flattened.add(id(value))
            kept = Nest(Like(value), tuple(vars(value)), tuple([self.flat(v) for v in vars(value).values()]))
        return kept

    def is_made(self, t):
        """Whether a tensor comes out of the program, or is one from outside, or a view of one."""
        return id(t) in self.trace.inside and self.viewed(t) is None

    def viewed(self, t):
        """(the tensor from outside whose elements `t` shows, by which steps); None if there is none."""
        cell = None if t._storage is None else t._storage.cell
        for reference, chain in () if cell is None else cell.shown.values():
            if not chain and id(reference()) in self.trace.lifted:
                return reference(), cell.chain(t)
        return None

    def share(self):
        """Of what was made and shares memory, only the whole is made; the others are views of it again."""
        families, self.shown = {}, {}
        for t in self.made:
            base, chain = whole_of(t)
            families.setdefault(id(base), (base, []))[1].append((t, chain))
        for base, members in families.values():
            views = [(t, chain) for t, chain in members if t is not base and can_be_shown(t)]
            if len(members) > 1 and id(base) in self.trace.inside:
                self.shown.update((id(t), (t, base, chain)) for t, chain in views)
                self.made = [*dict.fromkeys([t for t in self.made if id(t) not in self.shown] + [base])]

    def gradients(self):
        """Traces the gradients of all that was lifted, given those of what was made."""
        trace, self.wanted = self.trace, []
        self.differentiable = [t for t in self.made if t._node is not None]
        roots = [(t._node, t._nr, trace.placeholder(None, t._a.shape, t._a.dtype)) for t in self.differentiable]
        lifted = [x for x in trace.lifted.values() if x.tensor._rg]
        if not roots or not lifted:
            return []
        for x in lifted:
            x.tensor._hooks = None  # they run outside, when the gradient arrives there
        try:
            caught = Pass(roots, False, False, {(x.node or x.tensor, 0): [x.index] for x in lifted}).run()
        except RuntimeError as error:
            if str(error) != tape.FREED:
                raise
            self.spent = True
            return []
        self.wanted = [x for x in lifted if x.index in caught]
        return [caught[x.index] for x in self.wanted]


class Program:
    """What a recording says, done again and again.

    ``inputs`` are, by index, places of tensors, draws, and None for the gradients of ``differentiable`` results.
    """

    def __init__(self, function, name, args, kwargs, tensors):
        recording = Recording(function, name, args, kwargs, tensors)
        trace = recording.trace
        self.name, self.guards = name, Guards(trace.watch)
        self.halves = recording.halves
        self.inputs = [self.guards.find(x.tensor) if isinstance(x, Lifted) else x for x in trace.inputs]
        self.kinds = [kind(x.tensor) if isinstance(x, Lifted) else None for x in trace.inputs]
        self.written = [x.index for x in recording.written]
        self.wanted = [x.index for x in recording.wanted]
        self.rebound = {x.index for x in recording.written if x.rebound}
        self.targets = [self.inputs[i] for i in self.written if i not in self.rebound]
        self.hooked = [(self.guards.find(x.tensor), x.state) for x in recording.hooks]
        self.had_grad = [(self.guards.find(t), grad is not None) for t, grad, _ in trace.grads.values()]
        number = {id(t): nr for nr, t in enumerate(recording.made)}
        self.n_made, self.n_owned = len(number), len(number) + len(self.written)
        self.errors = [error for _, _, error in recording.required]
        self.flags = [t._rg for t in recording.made]
        self.retain = [number[id(t)] for t in recording.made if t.retains_grad]
        self.differentiable = [number[id(t)] for t in recording.differentiable]
        self.spent = recording.spent
        self.nest, self.sets, self.refills = recording.nest, recording.sets, recording.refills
        self.grads = [(self.guards.find(t), there) for t, there in recording.grads]
        taken = {**recording.found, **recording.shown}  # what is not made, but taken from other tensors
        self.takers = [self.taker(*taken[key], number) for key in taken]
        number.update(zip(taken, range(len(number), len(number) + len(taken)), strict=True))
        self.outcome = [number[id(t)] for t in recording.outcome]
        self.gives = bool(trace.watch.given)
        gradients = [i for i, x in enumerate(self.inputs) if x is None]
        self.classes, self.layouts = [type(t) for t in recording.made], recording.layouts
        self.gradient_of = dict(zip(gradients, range(len(gradients)), strict=True))  # index -> which of those that came
        self.guards.resolve()

    def taker(self, t, base, chain, number):
        """How to take a result that the program does not make from the tensor that it is, or of which it is a view."""
        if id(base) in number:
            nr = number[id(base)]
            find = lambda arguments, made: made[nr]  # noqa: E731
        else:
            place = self.guards.find(base)
            find = lambda arguments, made: place.find(arguments)  # noqa: E731
        if t is base:
            return find
        if not t._rg:
            return lambda arguments, made: replay(find(arguments, made).detach(), chain)
        return lambda arguments, made: replay(find(arguments, made), chain or ALIAS)

    # ---- whether it can be run

    def changed(self, arguments):
        """What keeps the program from being run with these arguments, in words; None if nothing does."""
        reason = self.guards.changed(arguments)
        if reason is not None:
            return reason
        tensors = []
        for place, was in zip(self.inputs, self.kinds, strict=True):
            if was is not None:
                t = place.find(arguments)
                now = kind(t) if isinstance(t, Tensor) else None
                if now != was:
                    return f"a tensor that was {described(was)} is {described(now)}"
                tensors.append(t)
        if len({id(t) for t in tensors}) < len(tensors):
            return "two tensors are the same that were not"
        written = {id(place.find(arguments)) for place in self.targets}
        if written and overlap([(id(t) in written, t._a) for t in tensors]):
            return "two tensors share memory that did not"
        for place, hooks in self.hooked:
            if hooks_of(place.find(arguments)) != hooks:
                return "there are other hooks on a tensor"
        for place, there in self.had_grad:
            if (place.find(arguments)._grad is not None) is not there:
                return f"a tensor had {'a' if there else 'no'} gradient"
        return None

    # ---- running

    def run(self, arguments, call):
        """The result of the function for these arguments, with everything it changes changed."""
        halves = self.halves
        tensors = [None if was is None else place.find(arguments) for place, was in zip(self.inputs, self.kinds)]
        arrays = [x.draw() if t is None and x is not None else None if t is None else t._a
                  for t, x in zip(tensors, self.inputs)]
        results = halves.forward([arrays[i] for i in halves.takes])
        kept, owned = results[halves.count:], halves.forward.owned(results[:halves.count])
        checks, owned = owned[self.n_owned:], owned[:self.n_owned]
        for holds, wrong, error in zip(checks[::2], checks[1::2], self.errors, strict=True):
            if not holds:
                raise error(wrong.item())
        if halves.backward is not None:
            also = [arrays[i].copy() if i in self.written else arrays[i] for i in halves.backward_takes]
        for index in self.written:
            if index not in self.rebound:
                check_writable(tensors[index])
        for index, array in zip(self.written, owned[self.n_made:], strict=True):
            if index in self.rebound:
                tensors[index].data = wrap(array)
            else:
                write_back(tensors[index], array, self.name)
        for nr, strides in self.layouts:
            owned[nr] = laid_out(owned[nr], strides)
        made = [wrap(array) if cls is Tensor else wrap(array).as_subclass(cls)
                for array, cls in zip(owned, self.classes, strict=False)]
        if modes.grad:
            self.record(made, tensors, kept, also if halves.backward is not None else ())
        made += [take(arguments, made) for take in self.takers]
        return self.finish([made[nr] for nr in self.outcome], arguments, call)

    def record(self, made, tensors, kept, also):
        """Puts what was made in the graph."""
        for t, flag in zip(made, self.flags, strict=True):
            t._rg = flag
        if not self.differentiable:
            return
        outputs = [made[nr] for nr in self.differentiable]
        node = CompiledFunctionBackward()
        edges = tuple(edge_of(tensors[i]) for i in self.wanted)
        tape.start(node, edges, tuple(t._a for t in outputs))
        node.program = self
        node.saved = None if self.spent else (kept, also)
        node.guards = [tape.guard(tensors[i]) for i in self.halves.backward_takes
                       if tensors[i] is not None and i not in self.written]
        for nr, t in enumerate(outputs):
            t._node, t._nr, t._rg = node, nr, True
        for nr in self.retain:
            made[nr].retain_grad()

    def finish(self, outcome, arguments, call):
        """Sets and accumulates what the function does; returns its result."""
        outcome, given = iter(outcome), containers_in(call, []) if self.gives else ()
        result = unflatten(self.nest, outcome, given)
        for place, nest in self.sets:
            place.put(MISSING if nest is MISSING else unflatten(nest, outcome, given))
        for container, keys, nest in self.refills:
            refill(given[container] if type(container) is int else container, keys, unflatten(nest, outcome, given))
        for place, there in self.grads:
            place.find(arguments)._grad = next(outcome) if there else None
        return result


class CompiledFunctionBackward(tape.Node):
    """The one node of a compiled function in the graph."""

    def pull(self, grads, graph):
        if self.saved is None:
            raise RuntimeError(tape.FREED)
        if graph:
            raise RuntimeError(NO_DOUBLE_BACKWARD)
        for storage, version in self.guards:
            if storage.version != version:
                raise tape.changed(self, storage, version)
        program, (kept, also) = self.program, self.saved
        halves = program.halves
        if halves.backward is None:
            return []
        if self.count == 1:
            grads = [grads]
        came = [tape.zeros_for(self, nr, False) if g is None else g for nr, g in enumerate(grads)]
        arrays = [came[program.gradient_of[i]] if i in program.gradient_of else a
                  for i, a in zip(halves.backward_takes, also, strict=True)]
        return halves.backward.owned(halves.backward([*kept, *arrays]))

    def free(self):
        self.saved = self.guards = None


def write_back(t, array, name):
    """Puts new elements into the memory of a tensor."""
    np.copyto(t._a, array)
    storage = storage_of(t)
    storage.version += 1
    storage.writer = name


def whole_of(t):
    """(the tensor that shows the whole memory of `t`, the steps from there to `t`)"""
    cell = None if t._storage is None else t._storage.cell
    if cell is None:
        return (t, ()) if t._view is None else (t._view.base, t._view.chain)
    for reference, chain in cell.shown.values():
        if not chain and reference() is not None and reference()._view is None:
            return reference(), cell.chain(t)
    return t, ()


def can_be_shown(t):
    """Whether a view can be taken again from its base, with the same place in the graph."""
    return t._hooks is None and (not t._rg or (t._view is not None and t._view.origin in (None, "multi")))


def laid_out(array, strides):
    """The array in memory in the order that strides say."""
    order = sorted(range(array.ndim), key=lambda axis: -strides[axis])
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


def kind(t):
    """By which two tensors are alike to a program."""
    a = t._a
    flag = t._rg if t._view is None else t.requires_grad
    return type(t), type(a), a.dtype, a.shape, flag, t._node is None, a.strides


def described(was):
    return "none" if was is None else f"a {was[0].__name__} {was[2].name}{list(was[3])}, requires_grad={was[4]}"
