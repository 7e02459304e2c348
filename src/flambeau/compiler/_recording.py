"""Recording: one trace of a function, and its results, writes and gradients."""

import collections
import contextlib

import jax
import numpy as np

from .._device import CPU, META
from .._interrupts import is_interrupt
from .._tensor import LEAF, wrap
from ..autograd.engine import Pass
from ..engines._views import is_index_array, value_of, with_key
from ._compiled import EagerOnly, UserError, is_missing_from_tracer
from ._created import attributes_of, is_new, is_unrepeatable
from ._floats import TracedFloat
from ._lifted import XLA, chain_of
from ._places import MISSING
from ._pytree import CopyOf, Tree, flatten, flatten_contents, flatten_keys, opaque_leaves
from ._records import ComputedIndex
from ._segment import Layout, Partition, on_cpu
from ._take_back import other_changes
from ._trace import Trace
from ._watch import without_profile

CREATED = (
    "it creates a {kind} that it returns or sets, and a program cannot create another one. Return tensors, containers "
    "of them, or objects of your own classes"
)
CYCLE = "it creates a {kind} that contains itself, and a program cannot create another one"
CHANGED_IN_BACKWARD = (
    "its backward changes {what} (in a hook, or in an autograd.Function), and runs after the function, where a program "
    "does nothing but compute gradients. Call backward() in the function"
)
RETAINED = (
    "it returns or sets a tensor that retains its gradient, and others that are computed from it. Call backward() in "
    "the function"
)
MORE_THAN_ELEMENTS = (
    "it returns or sets a tensor that it has created and given {what}, which a program does not create. Return that "
    "besides the tensor"
)
WITHOUT_ELEMENTS = "it returns or sets a tensor on the device meta, which has no elements to compute"

MUTABLE = (list, dict, set, collections.deque, np.ndarray)


class Recording:
    """One trace of a function.

    ``results`` are the tensors that leave the function, in order: those it returns, those it sets outside, and
    gradients. ``outputs`` are those the program computes; ``aliases`` are the others: tensors from outside, and views
    of these or of outputs.

    Args:
        function: the function to trace.
        name: its name in messages.
        args, kwargs: its arguments.
        tensors: the tensors among these.
        takes_floats: whether floats from outside may become inputs.
    """

    def __init__(self, function, name, args, kwargs, tensors, takes_floats):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.trace = Trace(name, tensors, (args, kwargs), takes_floats)
        self.results = []
        self.trees = {}  # id -> (container or object that the function has created, its tree; None while that is built)
        self.shared = set()  # ids of those trees that are found more than once
        self.graph_freed = False  # whether the function itself has run a backward through its graph
        self.own_error = None  # the error that the function itself has raised

    def run(self):
        """Traces the function, and partitions the trace into segments."""
        try:
            jaxpr = self.trace_function(self.body)
        except BaseException as error:
            if self.trace.watch.error is not None:
                raise self.trace.watch.error from None
            if self.trace.watch.volatile is None and self.is_own_error(error):
                raise UserError from error
            raise
        self.partition = Partition(jaxpr, self.layout())

    def trace_function(self, body):
        """The trace of the function; `body` returns its results."""
        with on_cpu(), self.trace.running():
            self.trace.watch.note_value(self.function, self.trace.name)
            return jax.make_jaxpr(body)()

    def body(self):
        """Calls the function; returns all that a program computes."""
        try:
            result = self.function(*self.args, **self.kwargs)
        except BaseException as error:
            if is_interrupt(error):  # the user has stopped it, so it must not run again
                raise
            self.own_error = error
            self.trace.watch.note_draws()
            if self.trace.watch.volatile is None or not self.is_own_error(error) or self.trace.watch.error is not None:
                raise
            result = None  # the program repeats the side effects before the error, and raises it afterwards
        if self.trace.watch.error is not None:  # the function has caught it
            raise self.trace.watch.error
        arrays = without_profile(self.results_of)(result)
        with self.nothing_changes():
            arrays += self.trace_gradients()
        self.trace.watch.stop_listening()
        return arrays

    def is_own_error(self, error):
        """Whether the function itself raised the error, as it would eagerly."""
        trace = self.trace
        return (error is self.own_error and not trace.is_refusal(error) and trace.caught_refusal() is None
                and not is_missing_from_tracer(error))

    def results_of(self, result):
        """All that a program computes, except gradients."""
        self.collect(result)
        arrays = [value_of(t._a) for t in [*self.outputs, *[x.tensor for x in self.write_targets]]]
        self.trace.check_draws()
        self.checks, self.lines = list(self.trace.requirements), list(self.trace.lines)
        return arrays + self.conditions()

    def conditions(self):
        """Whether each condition on elements holds, as one array, followed by the values that violate them."""
        if not self.checks:
            return []
        return [jax.numpy.stack([holds for holds, *_ in self.checks]), *[wrong for _, wrong, _ in self.checks]]

    def layout(self):
        """The device of the program, and those of its inputs and results."""
        trace = self.trace
        conditions = len(self.checks) + 1 if self.checks else 0
        results = [*self.output_devices, *[x.device for x in self.write_targets], *[trace.device] * conditions]
        inputs = [getattr(x, "device", CPU) for x in trace.inputs]
        gradients = [x.device for x in self.grad_inputs]
        donatable = {x.index: nr for nr, x in enumerate(self.write_targets, len(self.outputs))
                     if not x.rebound and x.is_whole and x.device is not CPU}
        return Layout(trace.device, inputs, results, gradients, donatable)

    def collect(self, result):
        """Collects the results, and all changes that the function has made outside."""
        trace = self.trace
        self.tree = self.flatten(result)
        places, refilled = trace.watch.changes()
        self.assignments = [(place, MISSING if value is MISSING else self.flatten(value)) for place, value in places]
        self.refills = [(container, flatten_keys(now.keys, self.results, self.stand_in),
                         self.flatten(now.elements.value if now.elements else now.values))
                        for container, now in refilled]
        self.new_grads = [(t, now) for t, before, now in trace.grads.values() if now is not before]
        self.results += [grad for _, grad in self.new_grads if grad is not None]
        trace.check()
        self.hooks = list(trace.hooks.values()) if trace.differentiates else []
        self.write_targets = [x for x in trace.lifted.values() if x.is_written]
        self.outputs = list({id(t): t for t in self.results if self.is_inside(t)}.values())
        outside = [t for t in self.results if not self.is_inside(t)]
        self.aliases = {id(t): (t, *(self.view_of_outside(t) or (t, ()))) for t in outside}
        self.find_views()
        self.aliases = {key: (t, base, tuple([with_key(step, self.computed_index) for step in chain]))
                        for key, (t, base, chain) in self.aliases.items()}
        self.output_devices = [t.device for t in self.outputs]
        if META in self.output_devices:
            raise EagerOnly(WITHOUT_ELEMENTS, has_begun=False)
        for t in self.outputs:
            if t._grad is not None or vars(t):
                what = "a gradient" if t._grad is not None else "attributes"
                raise EagerOnly(MORE_THAN_ELEMENTS.format(what=what), has_begun=False)
        self.strides = [None if t.is_contiguous() else t.stride() for t in self.outputs]

    def flatten(self, value):
        tree, watch = flatten(value, self.results, self.stand_in), self.trace.watch
        lost = [x for x in opaque_leaves(tree) if watch.volatile is None and is_unrepeatable(watch, x)]
        if lost:
            raise EagerOnly(CREATED.format(kind=type(lost[0]).__qualname__), has_begun=False)
        return tree

    def stand_in(self, value):
        """What stands for a container from outside, or for one, or an object, that the function has created.

        It is None for other values.
        """
        if type(value) is TracedFloat:
            return self.trace.floats.output(value)
        watch = self.trace.watch
        found = watch.stand_in(value)
        is_object = found is None and is_new(watch, value)
        if found is not None or not (is_object or isinstance(value, MUTABLE)):
            return found
        if id(value) not in self.trees:
            self.trees[id(value)] = value, None
            tree = self.flatten_object(value) if is_object else flatten_contents(value, self.results, self.stand_in)
            self.trees[id(value)] = value, tree
            return tree
        _, tree = self.trees[id(value)]
        if tree is None:
            raise EagerOnly(CYCLE.format(kind=type(value).__qualname__), has_begun=False)
        self.shared.add(id(tree))
        return tree

    def flatten_object(self, value):
        attributes = attributes_of(value)
        return Tree(CopyOf(value), tuple(attributes), tuple([self.flatten(v) for v in attributes.values()]))

    def is_inside(self, t):
        """Whether the program computes a tensor: it is neither from outside nor a view of such a tensor."""
        return id(t) in self.trace.inside and self.view_of_outside(t) is None

    def view_of_outside(self, t):
        """(the tensor from outside that `t` is a view of, the steps of the view); None if there is none."""
        memory = memory_of(t)
        for lifted in self.trace.lifted.values() if memory is not None else ():
            if lifted.storage.memory is memory:
                return lifted.tensor, chain_of(t._a)
        return None

    def find_views(self):
        """Finds outputs that share memory: the program computes their base, and the others become aliases."""
        families = {}
        for t in self.outputs:
            base, chain = self.base_of(t)
            families.setdefault(id(base), (base, []))[1].append((t, chain))
        for base, members in families.values():
            views = {id(t): (t, base, chain) for t, chain in members if t is not base and can_be_replayed(t)}
            if len(members) > 1 and id(base) in self.trace.inside:
                self.aliases.update(views)
                self.outputs = [*dict.fromkeys([t for t in self.outputs if id(t) not in views] + [base])]

    def computed_index(self, entry):
        """Makes a traced index in the key of a view an output, and returns a reference to it."""
        if not is_index_array(entry):
            return entry
        self.outputs.append(wrap(entry, self.trace.device, XLA))
        return ComputedIndex(len(self.outputs) - 1)

    def base_of(self, t):
        """(the tensor with the whole memory of `t`, the steps from it to `t`)."""
        if t._view is not None:
            return t._view.base, t._view.chain
        memory = memory_of(t)
        others = [reference() for reference in self.trace.inside.values()] if memory is not None else ()
        for other in others:
            if memory_of(other) is memory and other._view is None and not chain_of(other._a):
                return other, chain_of(t._a)
        return t, ()

    @contextlib.contextmanager
    def nothing_changes(self):
        """The function has returned: what is changed in this context, on the way back through its graph, is refused."""
        trace = self.trace
        before, written = other_changes(trace), {key for key, x in trace.lifted.items() if x.is_written}
        arrays = {key: value_of(x.current) for key, x in trace.lifted.items()}
        yield
        if trace.watch.volatile is not None:
            return
        after = other_changes(trace)
        changed = [(after.get(key) or found)[0] for key, found in (before | after).items()
                   if before.get(key) != after.get(key)]
        changed += [f"a tensor {x}" for key, x in trace.lifted.items()
                    if value_of(x.current) is not arrays.get(key, x.tracer) or x.is_written != (key in written)]
        if changed:
            raise EagerOnly(CHANGED_IN_BACKWARD.format(what=changed[0]), has_begun=False)

    def trace_gradients(self):
        """Traces the gradients of all tensors from outside, given placeholders for those of the outputs."""
        trace, self.grad_inputs, self.sources = self.trace, [], []
        self.differentiable = [t for t in self.outputs if t._node is not None]
        roots = [(t._node, t._nr, trace.placeholder(None, t._a.shape, t._a.dtype)) for t in self.differentiable]
        lifted = [x for x in trace.lifted.values() if x.tensor._rg]
        if not roots or not lifted:
            return []
        retained = {t._node: t for t in self.differentiable if t.retains_grad}
        if retained and any([targets_behind(node, retained) for node, *_ in roots]):
            raise EagerOnly(RETAINED, has_begun=False)
        for x in lifted:
            x.tensor._hooks = None  # hooks run outside, when the gradient arrives
        targets = {x.node or x.tensor: x.index for x in lifted}
        reached = [targets_behind(node, targets) for node, *_ in roots]
        try:
            caught = Pass(roots, False, False, {(target, 0): [index] for target, index in targets.items()}).run()
        except RuntimeError as error:
            if not hasattr(error, "is_graph_freed"):
                raise
            self.graph_freed = True
            return []
        self.grad_inputs = [x for x in lifted if x.index in caught]
        self.sources = [{nr for nr, found in enumerate(reached) if x.index in found} for x in self.grad_inputs]
        return [caught[x.index] for x in self.grad_inputs]


def targets_behind(node, targets):
    """The values of those `targets` (a dict by nodes and leaves) that are reachable from a node."""
    found, seen, open_nodes = set(), {node}, [node]
    while open_nodes:
        for edge in open_nodes.pop()._edges:
            if edge is None or edge[0] in seen:
                continue
            seen.add(edge[0])
            if edge[0] in targets:
                found.add(targets[edge[0]])
            elif edge[1] != LEAF:
                open_nodes.append(edge[0])
    return found


def memory_of(t):
    """The Memory of a traced tensor, which others may share; None for a constant."""
    return getattr(getattr(t, "_storage", None), "memory", None)


def can_be_replayed(t):
    """Whether a view can be recreated from its base, with the same place in the graph."""
    return t._hooks is None and (not t._rg or (t._view is not None and t._view.origin in (None, "multi")))
