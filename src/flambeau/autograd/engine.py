"""Backward: walks the recorded graph from the outputs to the leaves.

A node runs when all gradients for its outputs have arrived. Among the nodes that are ready the youngest goes first,
as in PyTorch, so hooks fire in the same order. Nothing here is recursive: the depth of a graph is not limited.

Gradients are raw arrays, or Tensors when the pass itself is recorded (``create_graph=True``).
"""

from __future__ import annotations

import sys
from heapq import heappop, heappush

import numpy as np

from .. import _tape as tape
from .._cells import store
from .._dtypes import is_inexact
from .._modes import modes
from .._size import broadcasts
from .._tensor import LEAF, Tensor, storage_of, wrap
from ..engines import engine_of
from ..engines.numpy.base import IGNORED, reset_errors, set_errors
from ..ops.reduce import sum_to
from ..ops.shape import cast

_ndarray = np.ndarray


class Pass:
    """One run of backward.

    Args:
        roots: (target, output number, gradient) triples to begin with.
        keep: whether what the nodes saved stays for another pass.
        graph: whether the pass is recorded.
        captures: {(target, output number): slot} whose gradients are returned instead of accumulated;
            None accumulates into every leaf.
        accumulate_into: the leaves that accumulate when `captures` is given.
    """

    def __init__(self, roots, keep, graph, captures=None, accumulate_into=()):
        self.roots = roots
        self.keep = keep
        self.graph = graph
        self.captures = captures
        self.accumulate_into = set(accumulate_into)
        self.caught = {}
        self.ready = []
        self.state = {}  # target -> [edges that have still to deliver, gradient or list of gradients]
        self.useful = None  # targets from which a wanted gradient can be reached; None: all

    def run(self):
        """Runs the pass; returns the captured gradients by slot."""
        before, outer, errors = modes.grad, modes.running, set_errors(IGNORED)
        modes.grad, modes.running = self.graph, self
        try:
            self.count_edges()
            self.seed()
            self.loop()
        finally:
            modes.grad, modes.running = before, outer
            reset_errors(errors)
        return self.caught

    def awaits(self, target):
        """Whether a target's turn will come."""
        return target in self.state and (self.useful is None or target in self.useful)

    def loop(self):
        """Runs the ready nodes, youngest first, and sends their gradients along the edges."""
        state, ready, useful, keep = self.state, self.ready, self.useful, self.keep
        plain = not self.graph and not modes.anomaly
        node = None
        while True:
            if node is None:
                if not ready:
                    return
                node = heappop(ready)[1]
            grads = state.pop(node)[1]
            if useful is not None:
                grads = self.before_wanted(node, grads)
            if grads is None:
                results = [None] * len(node.next)
            elif node.hooked or not plain:
                results = self.pull_watched(node, grads)
            else:
                try:
                    results = node.pull(grads, False)
                except Exception as error:
                    tell_origin(node, error)
                    raise
                if not keep:
                    node.free()
            if type(results) is not list:
                results = list(results)
            following = grads = None
            for i, edge in enumerate(node.next):
                if edge is None:
                    continue
                target, nr = edge
                mine = state[target]
                grad = results[i]
                if grad is not None and (useful is None or target in useful):
                    like = target._a if nr == LEAF else target
                    if type(grad) is not _ndarray or grad.shape != like.shape or grad.dtype is not like.dtype:
                        self.store(mine, target, nr, fitted(grad, target, nr))
                    else:
                        mine[1] = grad if mine[1] is None else plus(mine[1], grad)
                mine[0] -= 1
                if mine[0]:
                    continue
                if nr == LEAF:
                    grad = results[i] = None  # `mine` alone may hold it: then the leaf can take it as it is
                    del state[target]
                    self.finish_leaf(target, mine)
                elif following is None:
                    following = target
                else:
                    heappush(ready, (-target.seq, target))
            node = following
            if following is not None and ready and -ready[0][0] > following.seq:
                heappush(ready, (-following.seq, following))
                node = None

    def count_edges(self):
        """How many gradients each target will receive, over everything reachable from the roots."""
        state, order = self.state, []
        for target, nr, _ in self.roots:
            if target not in state:
                state[target] = [0, None]
                if nr != LEAF:
                    order.append(target)
        for node in order:  # grows while it is walked
            for edge in node.next:
                if edge is not None:
                    target = edge[0]
                    if target in state:
                        state[target][0] += 1
                    else:
                        state[target] = [1, None]
                        if edge[1] != LEAF:
                            order.append(target)
        if self.captures is not None:
            self.find_useful(order)

    def find_useful(self, nodes):
        """Marks the targets on a path to a wanted gradient. Edges lead from younger nodes to older ones."""
        useful = {target for target, _ in self.captures} | self.accumulate_into
        for node in sorted(nodes, key=lambda n: n.seq):
            if any(edge is not None and edge[0] in useful for edge in node.next):
                useful.add(node)
        self.useful = useful

    def seed(self):
        """Puts the gradients of the roots in place. A root that other roots lead to waits for them."""
        for target, nr, grad in self.roots:
            self.store(self.state[target], target, nr, grad)
        for target, nr in {target: nr for target, nr, _ in self.roots}.items():
            if self.state[target][0] == 0:
                self.release(target, nr)

    @staticmethod
    def store(state, target, nr, grad):
        """Adds a gradient to what a target has received."""
        if nr == LEAF or target.count == 1:
            held = state[1]
            state[1] = grad if held is None else plus(held, grad)
        else:
            if state[1] is None:
                state[1] = [None] * target.count
            held = state[1][nr]
            state[1][nr] = grad if held is None else plus(held, grad)

    def release(self, target, nr):
        """All gradients of the target have arrived."""
        if nr == LEAF:
            self.finish_leaf(target, self.state.pop(target))
        else:
            heappush(self.ready, (-target.seq, target))

    # ---- one node

    def before_wanted(self, node, grads):
        """Catches what the caller wants of this node; None when nothing wanted lies behind it."""
        if node.out_hooks is not None and grads is not None:
            grads = self.run_tensor_hooks(node, grads)
        self.catch(node, grads)
        return grads if any(edge is not None and edge[0] in self.useful for edge in node.next) else None

    def catch(self, target, grads):
        """Keeps the gradients that the caller asked for."""
        if grads is None:
            return
        for nr, grad in enumerate(grads if type(grads) is list else (grads,)):
            slots = self.captures.get((target, nr), ())
            if grad is not None and slots:
                self.caught.update(dict.fromkeys(slots, forwards(grad)))

    def pull_watched(self, node, grads):
        """``pull`` between the node's hooks, with the checks of anomaly mode."""
        if node.out_hooks is not None and self.useful is None:
            grads = self.run_tensor_hooks(node, grads)
        if node.pre_hooks:
            grads = self.run_pre_hooks(node, grads)
            if grads is None:
                return [None] * len(node.next)
        try:
            results = node.pull(grads, self.graph)
        except Exception as error:
            tell_origin(node, error)
            raise
        if not self.keep:
            node.free()
        if node.post_hooks:
            results = self.run_post_hooks(node, grads, results)
        if modes.anomaly and modes.anomaly_check_nan:
            check_nan(node, results)
        return results

    # ---- leaves

    def finish_leaf(self, leaf, state):
        """Takes the gradient of a leaf, which is complete, out of its `state`: through the hooks, into ``.grad``."""
        grad = state.pop()
        if grad is None:
            return
        hooks = leaf._hooks
        if hooks is not None:
            if hooks.grad:
                grad = self.unwrapped(run_hooks(hooks.grad, self.wrapped(grad)))
            end = tape.accumulate_node(leaf)
            if end is not None:
                grad = self.run_pre_hooks(end, grad)
        if self.captures is not None:
            self.catch(leaf, grad)
            if leaf not in self.accumulate_into:
                return
        self.accumulate(leaf, grad)
        if hooks is not None:
            if end is not None:
                self.run_post_hooks(end, grad, ())
            for hook in list(hooks.post_accumulate.values()):
                hook(leaf)

    def accumulate(self, leaf, grad):
        held = leaf._grad
        if self.graph:
            leaf._grad = grad if held is None else held + grad
        elif held is None:
            if sys.getrefcount(grad) > ALONE or not lies_like(grad, leaf._a):
                grad = engine_of(grad).copy_like(grad, leaf._a)
            leaf._grad = wrap(grad)
        elif held._rg:
            leaf._grad = wrap(held._a + grad)
        else:
            storage_of(held).version += 1
            store(held, engine_of(held._a, grad).accumulate(held._a, grad))

    # ---- hooks

    def wrapped(self, grad):
        return grad if grad is None or self.graph else wrap(forwards(grad))

    def unwrapped(self, grad):
        return grad if grad is None or self.graph else grad._a

    def run_tensor_hooks(self, node, grads):
        """The hooks of the tensors that this node made; then what retain_grad asked for."""
        many = type(grads) is list
        for nr, hooks in node.out_hooks.items():
            grad = grads[nr] if many else grads
            if grad is None:
                continue
            if hooks.grad:
                grad = self.unwrapped(run_hooks(hooks.grad, self.wrapped(grad)))
                if many:
                    grads[nr] = grad
                else:
                    grads = grad
            tensor = hooks.retain() if hooks.retain is not None else None
            if tensor is not None:
                kept = grad if self.graph else wrap(engine_of(grad).copy(grad))
                tensor._grad = kept if tensor._grad is None else tensor._grad + kept
        return grads

    def run_pre_hooks(self, node, grads):
        for hook in list(node.pre_hooks.values()) if node.pre_hooks else ():
            many = type(grads) is list
            given = tuple(map(self.wrapped, grads if many else (grads,)))
            got = hook(given)
            if got is not None:
                got = list(map(self.unwrapped, returned(hook, got, given)))
                grads = got if many else got[0]
        return grads

    def run_post_hooks(self, node, grads, results):
        for hook in list(node.post_hooks.values()) if node.post_hooks else ():
            results = [g if g is None or e is None else fitted(g, *e) for g, e in zip(results, node.next, strict=True)]
            given = tuple(map(self.wrapped, grads if type(grads) is list else (grads,)))
            found = tuple(map(self.wrapped, results))
            got = hook(found, given)
            if got is not None:
                results = list(map(self.unwrapped, returned(hook, got, found)))
        return results


class _Count(Pass):
    def accumulate(self, leaf, grad):
        self.caught = sys.getrefcount(grad)


def references_of_our_own():
    """How many references there are in ``accumulate`` to a gradient that nobody else holds."""
    trial = _Count((), False, False)
    trial.finish_leaf(wrap(np.zeros(1)), [0, np.zeros(1)])
    return trial.caught


ALONE = references_of_our_own()


def plus(a, b):
    """The sum of two gradients. Where both are scalars NumPy answers with a number: an array again."""
    total = a + b
    return np.asarray(total) if isinstance(total, np.generic) else total


def told(hook):
    """A hook, as messages name it."""
    return f"hook {getattr(hook, '__name__', hook)!r}"


def returned(hook, got, given):
    """The gradients that a hook on a node returned: of the number, shapes and dtypes of those it was given."""
    if not isinstance(got, tuple):
        raise TypeError(f"expected tuple, but {told(hook)} returned {type(got).__name__!r}")
    if len(got) != len(given):
        raise RuntimeError(f"{told(hook)} has returned an incorrect number of values: {len(got)}, not {len(given)}")
    for before, grad in zip(given, got, strict=True):
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(f"expected Tensor, but {told(hook)} returned {type(grad).__name__!r}")
        check_alike(hook, before, grad)
    return got


def run_hooks(hooks, grad):
    """Passes a gradient through tensor hooks; each may replace it."""
    for hook in list(hooks.values()):
        got = hook(grad)
        if got is None:
            continue
        if not isinstance(got, Tensor):
            raise TypeError(f"{told(hook)} has returned {type(got).__name__}; expected a Tensor or None")
        check_alike(hook, grad, got)
        grad = got
    return grad


def check_alike(hook, before, after):
    """Raises unless the gradient that a hook returned can take the place of the one it got."""
    if before is None or after is None:
        return
    if after._a.shape != before._a.shape:
        raise RuntimeError(
            f"{told(hook)} has changed the size of value: {list(before.shape)} became {list(after.shape)}"
        )
    if after._a.dtype != before._a.dtype:
        raise RuntimeError(f"{told(hook)} has changed the type of value: {before.dtype} became {after.dtype}")


def fitted(grad, target, nr):
    """A gradient summed to the shape, and cast to the dtype, of the value it belongs to."""
    shape, dtype = (target._a.shape, target._a.dtype) if nr == LEAF else target.output(nr)
    own = grad
    if type(grad) is not _ndarray:
        if isinstance(grad, Tensor):
            own = grad._a
        elif isinstance(grad, np.generic):
            own = grad = np.asarray(grad)
    if own.shape != shape:
        if not broadcasts(shape, own.shape):
            raise RuntimeError(
                f"a backward returned an invalid gradient: got {list(own.shape)} but expected shape compatible with "
                f"{list(shape)}"
            )
        grad = sum_to(grad, shape)
    if own.dtype is not dtype and own.dtype != dtype:
        grad = cast(grad, dtype=dtype)
    return grad


def lies_like(grad, value):
    """Whether a gradient has memory of its own, in the order of the value it belongs to."""
    if type(grad) is not _ndarray:
        return True
    if grad.base is not None:
        return False
    flags = grad.flags
    if not flags.writeable:
        return False
    return flags.c_contiguous if value.flags.c_contiguous else grad.strides == value.strides


def forwards(grad):
    """A gradient for people to see: tensors do not lie backwards in memory, as arrays may."""
    return grad if type(grad) is not _ndarray or min(grad.strides, default=0) >= 0 else grad.copy()


def tell_origin(node, error):
    """Adds to an error where in the forward its node was recorded (anomaly mode), and the node's name."""
    error.add_note(f"in the backward of {node.name()}")
    if node.trace:
        error.add_note("recorded in the forward here:\n" + "".join(node.trace))


def check_nan(node, results):
    for i, grad in enumerate(results):
        array = grad._a if isinstance(grad, Tensor) else grad
        if array is not None and is_inexact(array.dtype) and np.isnan(array).any():
            error = RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
            tell_origin(node, error)
            raise error
