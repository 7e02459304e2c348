"""Ops that PyTorch composes of several: how their nodes appear in the graph.

Such an op records one node, and one node runs in backward. It appears as the last of PyTorch's nodes; the others are
recorded when they are accessed. The op declares the composition:

    linear.presents(AddmmBackward0=lambda x, weight, bias: addmm(bias, x, t(weight)))

Hooks on these nodes work: from the first one on, backward runs the steps.
"""

import weakref

import numpy as np

from .._dtypes import is_inexact
from .._modes import modes
from .._tape import OpNode, graph_freed, name_of
from .._tensor import LEAF, wrap
from ..engines import NUMPY, engine_of
from ._plan import unpack_saved

NO_VALUES = (
    "{name} is a step of a node that runs as one and has not saved what the step needs: it cannot have hooks. Put them "
    "on the grad_fn of the result, or on tensors: tensor.register_hook(...)."
)
NO_GRAPH = (
    "{name} has hooks, or is part of a node that shows itself as several of which one has: it cannot run with "
    "create_graph=True. Remove the hooks, or put them on tensors: tensor.register_hook(...)."
)

UNRECORDED = object()  # placeholder for steps that have not been accessed


class CompositeNode(OpNode):
    """A node that appears as the last of several."""

    __slots__ = ()

    _last_step = UNRECORDED

    @property
    def _last(self):
        """The node that it appears as; None if PyTorch has one node too."""
        if self._last_step is UNRECORDED:
            self._last_step = record_steps(self)
        return self._last_step

    @property
    def next_functions(self):
        """The (node, output number) pairs to which this node sends gradients."""
        return super().next_functions if self._last is None else self._last.next_functions

    def register_hook(self, fn):
        """Calls ``fn(grad_inputs, grad_outputs)`` after this node ran; it may return new grad_inputs."""
        shown = self._last is not None and self._last._steps.has_values
        return self._last.register_hook(fn) if shown else super().register_hook(fn)

    def _free(self):
        super()._free()
        if self._last_step is not None and self._last_step is not UNRECORDED:
            free_steps(self._last_step)


class Steps:
    """The steps that one node appears as.

    They are recorded on `leaves`, which replace its inputs. If the steps need values that the node did not save,
    `has_values` is False.
    """

    has_values = True

    def __init__(self, node):
        self.node = weakref.ref(node)  # the steps may outlive it
        self.sequence_nr = node._sequence_nr()
        self.outer = node._steps
        self.leaves = [None if edge is None else stand_in(node, i) for i, edge in enumerate(node._edges)]
        self.edges = {id(leaf): edge for leaf, edge in zip(self.leaves, node._edges) if leaf is not None}

    def outer_edge(self, edge):
        """The public edge of a step: an edge to a leaf is replaced by that of the input."""
        if edge is None or edge[1] != LEAF or id(edge[0]) not in self.edges:
            return edge
        edge = self.edges[id(edge[0])]
        return edge if self.outer is None else self.outer.outer_edge(edge)

    def run_in_backward(self, step):
        """Makes backward run the steps, since one has hooks."""
        if not self.has_values:
            raise RuntimeError(NO_VALUES.format(name=name_of(step)))
        node = self.node()
        if node is not None:
            node.backward = pull_through_steps
            node._hooked = True  # its gradient cannot bypass the steps
        if self.outer is not None:
            self.outer.run_in_backward(step)


def record_steps(node):
    """Records the steps of a node; returns the last, or None if there is only one."""
    function, getters = node.op.steps[type(node).__name__]
    steps = Steps(node)
    inputs = {
        i: stand_in(node, i) if steps.leaves[i] is None else steps.leaves[i] for kind, i in getters if kind == "input"
    }
    before, modes.grad, modes.watched = (modes.grad, modes.watched), True, False
    try:
        result = function(*[node.op.of_call(inputs, node.settings, kind, where) for kind, where in getters])
    finally:
        modes.grad, modes.watched = before
    if result is None:
        return None
    blanks = {id(t) for i, t in inputs.items() if not node.inputs or node.inputs[i] is None}
    for step in each_step(result._node):
        step._steps = steps
        steps.has_values = steps.has_values and not saves_of(step, blanks)
    if node.guards is None:
        free_steps(result._node)
    return result._node


def each_step(last):
    """The steps that lead to the last one."""
    found = [last]
    for node in found:  # grows during iteration
        found.extend([e[0] for e in node._edges if e is not None and e[1] != LEAF and e[0] not in found])
    return found


def saves_of(step, blanks):
    """Whether a step has saved something that comes from the leaves `blanks`."""
    edges = step._edges
    saved = [a is not None and edge is not None and leads_to(edge, blanks) for a, edge in zip(step.inputs, edges)]
    return any(saved) or (step.out is not None and any([e is not None and leads_to(e, blanks) for e in edges]))


def leads_to(edge, leaves):
    """Whether an edge leads to one of the leaves."""
    target, nr = edge
    return id(target) in leaves if nr == LEAF else any([e is not None and leads_to(e, leaves) for e in target._edges])


def free_steps(last):
    for step in each_step(last):
        step._free()


def stand_in(node, i):
    """A leaf that replaces an input, with its elements if the node saved them; None for None."""
    value = unpack_saved(node.inputs[i]) if node.inputs else None
    if value is None:
        shape = shape_of(node, i)
        if shape == () and node._edges[i] is None:
            return None  # absent in the call
        value = blank(node, shape)
    dtype = node._output(0)[1]
    if value.dtype != dtype and is_inexact(value.dtype):  # ops that compute in float32 save float32
        value = engine_of(value).cast(value, dtype)
    return wrap(value).requires_grad_(node._edges[i] is not None)


def blank(node, shape):
    """Zeros, on the engine of the node's saved arrays."""
    saved = [a for a in node.inputs or () if hasattr(a, "dtype")]
    k = engine_of(*saved) if saved else NUMPY
    if k is NUMPY:
        return np.zeros(shape, node._output(0)[1])
    return k.zeros_like(saved[0], dtype=node._output(0)[1], shape=shape)


def shape_of(node, i):
    """The shape of an input, as far as the node knows."""
    if node.inputs and node.inputs[i] is not None:
        return getattr(unpack_saved(node.inputs[i]), "shape", ())
    edge = node._edges[i]
    if edge is None:
        return node.shapes[i] if node.shapes else ()
    target, nr = edge
    return target._a.shape if nr == LEAF else target._output(nr)[0]


def pull_through_steps(grad, node, graph=False):
    """The backward of a node with hooks on its steps."""
    if graph:
        raise RuntimeError(NO_GRAPH.format(name=name_of(node)))
    if node.guards is None:
        raise graph_freed()
    last, grad = node._last, grad if node._count == 1 else grad[0]
    return modes.running.pull_through(last, grad, last._steps.leaves)
