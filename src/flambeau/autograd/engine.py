"""Backward: walks the recorded graph from the outputs to the leaves.

A node runs when all gradients for its outputs have arrived. Of the ready nodes, the one created last runs first,
as in PyTorch, so hooks run in the same order. Nothing here is recursive, so the depth of a graph is not limited.

Gradients are raw arrays, or Tensors when the pass itself is recorded (``create_graph=True``).
"""

import functools
import math
import operator
import sys
import threading
import traceback
from heapq import heappop, heappush

import numpy as np

from .. import _tape as tape
from .._device import strided
from .._dtypes import is_inexact
from .._fp_errors import IGNORED, reset_errors, set_errors
from .._modes import modes
from .._tensor import LEAF, NO_FUNCTION, Tensor, wrap
from .._threads import call_in_thread
from ..engines import NUMPY, engine_of
from ..ops.convert import copy_in_layout
from ._hook_calls import (
    call_output_hooks,
    call_post_hooks,
    call_pre_hooks,
    call_tensor_hooks,
    check_is_tensor,
    with_positive_strides,
)
from ._sums import add_at_index, add_to, fit_gradient, has_layout_of, plus, sum_in_layout
from ._writes import write

POST_ACCUMULATE_RESULT = "Tensor post accumulate grad hooks should return None. Write to param.grad in place instead."
ACCUMULATING = threading.RLock()  # held while a gradient is added to .grad, which several threads may do at once
MOVED_LEAF = (
    "leaf variable has been moved into the graph interior: it was written to after detach_() or requires_grad_(False), "
    "and what had been computed of it cannot leave a gradient there. clone() it before the write."
)
AGE = operator.attrgetter("_seq")
LARGE = 1 << 12  # the size of gradients for which in-place addition pays off
DEPTH_OF_A_THREAD = 16  # nested passes that run on one thread's stack


class Pass:
    """One run of backward.

    Args:
        roots: (target, output number, gradient) triples to begin with.
        retain_graph: whether saved values are kept for another pass.
        graph: whether the pass is recorded.
        captures: {(target, output number): slots} whose gradients are returned; None for all of backward.
        execute: with `captures`, the targets that run (leaves accumulate), in addition to the paths to them.
        below: the transform level of the graph, from 1, if the pass is to be recorded on the levels below it.
    """

    def __init__(self, roots, retain_graph, graph, captures=None, execute=(), below=0):
        self.roots = roots
        self.retain_graph = retain_graph
        self.graph = graph
        self.below = below
        self.captures = captures
        self.execute = set(execute)
        self.captured = {}
        self.ready = []
        self.state = {}  # target -> [number of outstanding edges, gradient or list of gradients]
        self.grads = None  # those of the running node, during a trace
        self.depth = 0  # the number of enclosing passes
        self.needed = None  # targets at, or on the way to, a capture or an executed one; None: all
        self.whole = set()  # nodes that are not captured, and all of whose gradients are needed

    def run(self):
        """Runs the pass; returns the captured gradients by slot."""
        if modes.running is not None:
            self.depth = modes.running.depth + 1
            if self.depth % DEPTH_OF_A_THREAD == 0 and not modes.tracer.active:
                return call_in_thread(self.walk)
        return self.walk()

    def walk(self):
        before, outer, errors, handler = modes.grad, modes.running, set_errors(IGNORED), NUMPY.exchange_handler(None)
        modes.grad, modes.running = self.graph, self
        self.check = modes.gradient_check or (check_nan if modes.anomaly and modes.anomaly_check_nan else None)
        try:
            self.count_edges()
            self.seed()
            self.loop()
        finally:
            modes.grad, modes.running = before, outer
            reset_errors(errors)
            if handler is not None:
                NUMPY.exchange_handler(handler)
        return self.captured

    def awaits(self, target):
        """Whether a target is still to run."""
        return target in self.state and (self.needed is None or target in self.needed)

    def executes(self, target):
        """Whether a target runs in this pass, or has run."""
        return target in self.reachable and (self.needed is None or target in self.needed)

    @functools.cached_property
    def reachable(self):
        """All targets, nodes and leaves, that the roots lead to."""
        order = [(target, nr) for target, nr, _ in self.roots]
        found = {target for target, _ in order}
        for node, nr in order:  # grows during iteration
            for edge in node._edges if nr != LEAF else ():
                if edge is not None and edge[0] not in found:
                    found.add(edge[0])
                    order.append(edge)
        return found

    def loop(self):
        """Runs the ready nodes, the latest first, and sends their gradients along the edges."""
        state, ready, needed, retain_graph = self.state, self.ready, self.needed, self.retain_graph
        scalar = np.generic
        quick = not self.graph and self.check is None and not modes.tracer.active
        plain, whole = quick and needed is None, self.whole if quick else ()
        node = None
        while True:
            if node is None:
                if not ready:
                    return
                node = heappop(ready)[1]
            grads = state.pop(node)[1]
            if (plain or node in whole) and grads is not None and not node._hooked:
                try:
                    if node._is_index and add_at_index(node, grads, state):
                        results = [None]
                    else:
                        results = node._pull(grads, False)
                except Exception as error:
                    add_node_note(node, error)
                    raise
                if not retain_graph:
                    node._free()
            else:
                results = self.visit(node, grads)
            if type(results) is not list:
                results = list(results)
            following = grads = None
            for i, edge in enumerate(node._edges):
                if edge is None:
                    continue
                target, nr = edge
                if needed is not None and target not in needed:
                    continue
                mine = state[target]
                grad = results[i]
                if grad is not None:
                    if nr == LEAF:
                        shape, dtype = target._a.shape, target._a.dtype
                    else:
                        shape, dtype = target._shape, target._dtype
                    if grad.shape != shape or grad.dtype is not dtype or isinstance(grad, scalar):
                        self.store(mine, target, nr, fit_gradient(grad, target, nr))
                    elif mine[1] is None:
                        mine[1] = grad
                    elif math.prod(shape) < LARGE:
                        mine[1] = plus(mine[1], grad)
                    else:
                        add_to(mine, grad)
                mine[0] -= 1
                if mine[0]:
                    continue
                if nr == LEAF:
                    grad = results[i] = None  # if `mine` is the only reference, the leaf can use it without a copy
                    del state[target]
                    self.finish_leaf(target, mine)
                elif following is None:
                    following = target
                else:
                    heappush(ready, (-target._seq, target))
            results = grad = None  # if the states have the only reference, more can be added in place
            node = following
            if following is not None and ready and -ready[0][0] > following._seq:
                heappush(ready, (-following._seq, following))
                node = None

    def count_edges(self):
        """Counts the gradients that each target reachable from the roots will receive."""
        state, order = self.state, []
        for target, nr, _ in self.roots:
            if target not in state:
                state[target] = [0, None]
                if nr != LEAF:
                    order.append(target)
        for node in order:  # grows during iteration
            for edge in node._edges:
                if edge is not None:
                    target = edge[0]
                    if target in state:
                        state[target][0] += 1
                    else:
                        state[target] = [1, None]
                        if edge[1] != LEAF:
                            order.append(target)
        if self.captures is not None:
            self.find_needed(order)

    def find_needed(self, nodes):
        """Marks the targets on a path to a capture. Edges lead from younger nodes to older ones."""
        captured = {target for target, _ in self.captures}
        needed = captured | self.execute
        for node in sorted(nodes, key=AGE):
            targets = [edge[0] for edge in node._edges if edge is not None]
            if not needed.isdisjoint(targets):
                if needed.issuperset(targets) and node not in captured:
                    self.whole.add(node)
                needed.add(node)
                self.execute.add(node)
        self.needed = needed

    def seed(self):
        """Stores the gradients of the roots. A root reachable from others waits for their gradients.

        The hooks of the tensor that backward was called on run in any case, as in PyTorch.
        """
        for target, nr, grad in self.roots:
            self.store(self.state[target], target, nr, grad)
        for target, nr in {target: nr for target, nr, _ in self.roots}.items():
            if self.state[target][0] == 0 and (len(self.roots) == 1 or self.awaits(target)):
                self.release(target, nr)

    @staticmethod
    def store(state, target, nr, grad):
        """Adds a gradient to a target's accumulated one."""
        if nr == LEAF or target._count == 1:
            if state[1] is None:
                state[1] = grad
            else:
                add_to(state, grad)
        else:
            if state[1] is None:
                state[1] = [None] * target._count
            held = state[1][nr]
            state[1][nr] = grad if held is None else plus(held, grad)

    def release(self, target, nr):
        """Makes a target ready, once all its gradients have arrived."""
        if nr == LEAF:
            self.finish_leaf(target, self.state.pop(target))
        else:
            heappush(self.ready, (-target._seq, target))

    # ---- one node

    def visit(self, node, grads):
        """Runs a node and its hooks, with the checks of anomaly mode, unless only its gradient is captured.

        As in PyTorch, captured gradients of a node that runs have not passed through the hooks of its outputs.
        """
        runs = self.captures is None or node in self.execute
        if self.captures and runs:
            self.capture(node, grads)
        if node._out_hooks is not None:
            grads = call_output_hooks(node, grads, self.graph)
        if not runs:
            self.capture(node, grads)
            return [None] * len(node._edges)
        if node._pre_hooks:
            grads = call_pre_hooks(node, grads, self.graph)
        self.grads = grads
        try:
            results = node._pull_undefined(self.graph) if grads is None else self.pull(node, grads)
        except Exception as error:
            add_node_note(node, error)
            raise
        if not self.retain_graph:
            node._free()
        if node._post_hooks:
            pairs = zip(results, node._edges, strict=True)
            results = [g if g is None or edge is None else self.for_hooks(node, g, edge) for g, edge in pairs]
            results = call_post_hooks(node, grads, results, self.graph)
        if self.check is not None:
            self.check(node, results)
        return results

    def pull(self, node, grads):
        """The gradients of a node's inputs; ops compute only the needed ones."""
        if self.needed is not None and isinstance(node, tape.OpNode):
            wanted = tuple([edge is not None and edge[0] in self.needed for edge in node._edges])
            if node.op.node != "NotImplemented":  # which raises even so, as in PyTorch
                return node._pull(grads, self.graph, wanted)
        return node._pull(grads, self.graph)

    def for_hooks(self, node, grad, edge):
        """A gradient to send along an edge. Ops compute only the needed ones; Functions compute all."""
        if self.needed is not None and edge[0] not in self.needed and isinstance(node, tape.OpNode):
            return None
        return fit_gradient(grad, *edge)

    def capture(self, target, grads):
        """Stores captured gradients for the caller."""
        if grads is None:
            return
        for nr, grad in enumerate(grads if type(grads) is list else (grads,)):
            slots = self.captures.get((target, nr), ())
            if grad is not None and slots:
                self.captured.update(dict.fromkeys(slots, with_positive_strides(grad)))

    def pull_through(self, last, grad, inputs):
        """The gradients of the leaves `inputs`, from that of the output of the node `last`: for steps with hooks."""
        captures = {(t, 0): [i] for i, t in enumerate(inputs) if t is not None}
        found = Pass([(last, 0, grad)], self.retain_graph, False, captures).run()
        return [found.get(i) for i in range(len(inputs))]

    # ---- leaves

    def finish_leaf(self, leaf, state):
        """Moves the complete gradient of a leaf from its `state` to ``.grad``, through the hooks."""
        if leaf._hooks is not None:
            return self.finish_hooked_leaf(leaf, state.pop())
        grad = state.pop()
        if grad is None:
            return None
        if self.captures is not None:
            self.capture(leaf, grad)
            if leaf not in self.execute:
                return None
        return self.accumulate(leaf, grad) if leaf._rg else None

    def finish_hooked_leaf(self, leaf, grad):
        """``finish_leaf`` for a leaf with hooks, which also run if the gradient is undefined."""
        hooks, node = leaf._hooks, tape.accumulate_node(leaf)
        if hooks.grad:
            grad = call_tensor_hooks(hooks.grad, grad, self.graph)
        if self.captures is not None:
            self.capture(leaf, grad)
            if leaf not in self.execute:
                return
        if node is not None and node._pre_hooks:
            grad = call_pre_hooks(node, grad, self.graph)
        if grad is not None and leaf._rg:
            self.accumulate(leaf, grad)
        for hook in list(hooks.post_accumulate.values()):
            result = hook(leaf)
            if result is not None:
                check_is_tensor(hook, result)
                raise RuntimeError(POST_ACCUMULATE_RESULT)
        if node is not None and node._post_hooks:
            call_post_hooks(node, grad, (), self.graph)

    def accumulate(self, leaf, grad):
        if type(leaf._node) not in NO_FUNCTION:
            raise RuntimeError(MOVED_LEAF)
        with ACCUMULATING:
            held = leaf._grad
            if self.graph:
                leaf._grad = copy_in_layout(wrap(leaf._a), grad) if held is None else sum_in_layout(held, grad)
            elif held is None:
                if sys.getrefcount(grad) > ALONE or not has_layout_of(grad, leaf._a):
                    grad = engine_of(grad, leaf._a).copy_like(grad, leaf._a)
                leaf._grad = wrap(grad, leaf.device)
            elif held.layout is strided or held.layout is engine_of(grad).layout:
                write(held, "backward", engine_of(held._a, grad).accumulate, grad)
            else:  # a dense gradient cannot be added to a sparse one in place
                leaf._grad = wrap(plus(grad, held._a), leaf.device)


class _Count(Pass):
    def accumulate(self, leaf, grad):
        self.captured = sys.getrefcount(grad)


def references_of_our_own():
    """The reference count, in ``accumulate``, of a gradient without other references."""
    trial = _Count((), False, False)
    trial.finish_leaf(wrap(np.zeros(1)).requires_grad_(), [0, np.zeros(1)])
    return trial.captured


ALONE = references_of_our_own()


def add_node_note(node, error):
    """Adds the node's name to an error, and in anomaly mode the stack of the forward call."""
    error.add_note(f"in the backward of {tape.name_of(node)}")
    if node._trace:
        lines = traceback.format_list(tape.frames_of(node._trace))
        error.add_note("recorded in the forward here:\n" + "".join(lines))


def check_nan(node, results):
    for i, grad in enumerate(results):
        array = grad._a if isinstance(grad, Tensor) else grad
        if array is not None and is_inexact(array.dtype) and np.isnan(array).any():
            error = RuntimeError(f"Function '{tape.name_of(node)}' returned nan values in its {i}th output.")
            add_node_note(node, error)
            raise error
