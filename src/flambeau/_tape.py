"""The autograd graph: nodes, their saved values and their hooks."""

import itertools
import sys
import traceback
import weakref

import numpy as np

from . import _dtypes
from ._hooks import TensorHooks, add_hook
from ._modes import in_use, modes
from ._storage import Storage, WatchedStorage
from ._tensor import Tensor, Unconnected, edge_of, storage_of, wrap
from .engines import NUMPY, engine_of

next_sequence = itertools.count().__next__

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
CHANGED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.{type} {shape}], saved by {saver}, is at version {now}; expected version {then} instead. "
    "It was last changed by {writer}. Hint: write out of place there, or save a .clone()."
)
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and "
    "use it in autograd."
)

BY_NUMBER = ("AddBackward1", "DivBackward1", "MulBackward1", "SubBackward1")
NAMESPACED = (  # nodes whose names PyTorch does not shorten
    "AccumulateGrad", "CopyBackwards", "CopySlices", "Error", "NotImplemented",
)


def graph_freed():
    """The error for a second backward through a freed graph: a plain RuntimeError, as in PyTorch."""
    error = RuntimeError(FREED)
    error.is_graph_freed = True
    return error


class Metadata:
    """The attribute ``metadata`` of a node, a dict for users. On the class it is a callable that takes a node."""

    def __get__(self, node, owner=None):
        return self if node is None else self(node)

    def __call__(self, node):
        return node.__dict__.setdefault("_metadata", {})


class Node:
    """A recorded operation. Its edges point towards the leaves: ``next_functions``.

    ``_shape`` and ``_dtype`` describe the output (tuples if ``_count``, the number of outputs, is not 1); ``_hooked``
    says whether there are hooks. The names are private because the node of a Function is its ``ctx``, on which users
    set attributes of any name.
    """

    __slots__ = ("__dict__", "__weakref__", "_count", "_dtype", "_edges", "_hooked", "_seq", "_shape")

    _out_hooks = None  # (output number, TensorHooks) pairs
    _pre_hooks = None
    _post_hooks = None
    _trace = None  # the stack at which it was recorded, in anomaly mode
    _steps = None  # the sequence of nodes it belongs to, if one fused node is shown as several
    _is_index = False  # for ops that select elements: see OpNode

    def name(self):
        """The name of the node, for example ``AddBackward0``."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in NAMESPACED else name

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"

    @property
    def next_functions(self):
        """The (node, output number) pairs to which this node sends gradients."""
        edges = [self._edges[i] for i in self._input_places]
        if self._steps is not None:
            edges = [self._steps.outer_edge(e) for e in edges]
        edges = [None if e is None or type(e[0]) is Unconnected else e for e in edges]
        pairs = tuple([(None, 0) if e is None else (as_node(e[0]), max(e[1], 0)) for e in edges])
        self._leaf_nodes = [node for node, _ in pairs if type(node) is AccumulateGrad]  # keeps them alive
        return pairs

    @property
    def _input_places(self):
        """The indices of the inputs that can have gradients."""
        return range(len(self._edges))

    @property
    def _output_places(self):
        """The indices of the outputs whose gradients hooks receive."""
        return range(self._count)

    def _output(self, nr):
        """(shape, dtype) of an output."""
        return (self._shape, self._dtype) if self._count == 1 else (self._shape[nr], self._dtype[nr])

    metadata = Metadata()

    def _sequence_nr(self):
        return self._seq if self._steps is None else self._steps.sequence_nr

    def register_hook(self, fn):
        """Calls ``fn(grad_inputs, grad_outputs)`` after this node ran; it may return new grad_inputs."""
        if self._post_hooks is None:
            self._post_hooks = {}
            self._expect_hooks()
        return add_hook(self._post_hooks, fn)

    def register_prehook(self, fn):
        """Calls ``fn(grad_outputs)`` before this node runs; it may return new grad_outputs."""
        if self._pre_hooks is None:
            self._pre_hooks = {}
            self._expect_hooks()
        return add_hook(self._pre_hooks, fn)

    def _expect_hooks(self):
        self._hooked = True
        if self._steps is not None:
            self._steps.run_in_backward(self)

    def _pull_undefined(self, graph):
        """The gradients of the inputs if no output has one."""
        return [None] * len(self._edges)

    def _free(self):
        """Frees the saved values."""


class AccumulateGrad(Node):
    """The node of a leaf. Edges hold the leaf itself; this object is created when a user or a hook needs it."""

    _edges = ()
    _seq = 2**63
    _count = 1
    _hooked = False

    def __init__(self, variable):
        self.variable = variable
        self._shape = variable._a.shape
        self._dtype = variable._a.dtype


def as_node(target):
    """The node that an edge leads to: for a leaf its AccumulateGrad, the same one as long as it is referenced."""
    if not isinstance(target, Tensor):
        return target
    node = accumulate_node(target)
    if node is None:
        node = AccumulateGrad(target)
        if target._hooks is None:
            target._hooks = TensorHooks()
        target._hooks.end = weakref.ref(node)
    return node


def accumulate_node(leaf):
    """The existing AccumulateGrad of this leaf, or None."""
    hooks = leaf._hooks
    return None if hooks is None or hooks.end is None else hooks.end()


class OpNode(Node):
    """A node of a declared op, with the values that its vjps need.

    ``backward(gradient, node)`` combines the op's vjps. Saved are ``inputs``: arrays by position, None if not needed;
    ``out``: the result; ``shapes`` of the inputs; ``settings`` of the call; ``guards``: (storage, version) pairs of
    the saved tensors, None after they are freed.
    """

    __slots__ = ("backward", "guards", "inputs", "out", "settings", "shapes")

    op = None
    packed = False  # whether a saved value went through saved-tensor hooks, or is recomputed
    shows_saved = True  # whether it was hooks: they see all saved values, whichever are wanted
    repeatable_version = None  # the version of the result that backward can recompute, if any
    _is_by_number = False  # whether the last operand is a number and PyTorch has a separate node for that
    _is_index = False  # whether it selects elements, at ``settings["key"]``

    @property
    def _input_places(self):
        places = range(len(self._edges))
        if self.op.joint is not None:
            return [i for i in places if self._edges[i] is not None or i not in self.op.constants]
        found = [i for i in places if i in self.op.vjps]
        return found[:-1] if self._is_by_number else found

    @property
    def _output_places(self):
        return [nr for nr in range(self.op.hook_count or self._count) if _dtypes.is_inexact(self._output(nr)[1])]

    def _free(self):
        if self.guards or self.out is not None or (self.inputs and not self._is_by_number) or self.op.once:
            self.guards = self.inputs = self.out = None

    def _pull(self, grads, graph, wanted=None):
        """The gradients of the inputs, given those of the outputs; as Tensors with `graph`.

        Gradients not flagged in `wanted` may be skipped; inputs without a derivative raise only if wanted.
        """
        guards = self.guards
        if guards:
            for storage, version in guards:
                if storage.version != version:
                    raise changed_error(self, storage, version)
        elif guards is None:
            raise graph_freed()
        if self._count != 1 and not takes_undefined(self, graph):
            defined = next(g for g in grads if g is not None)
            grads = [zeros_for(self, nr, graph, defined) if g is None else g for nr, g in enumerate(grads)]
        if graph or self.packed:
            return self.op.pull(self, grads, graph, None if self.packed and self.shows_saved else wanted)
        backward = self.backward
        if wanted is not None and backward is self.op.plan(tuple([e is not None for e in self._edges])).backward:
            backward = self.op.plan(wanted).backward  # others compute all gradients; unneeded ones are dropped
            if backward is None:
                return [None] * len(self._edges)
        return backward(grads, self)


def takes_undefined(node, graph):
    """Whether the vjps of a node accept None as the gradient of an unused output."""
    plain = not graph and not node.packed
    return node.op.takes_undefined or (plain and getattr(node.backward, "takes_undefined", False))


def zeros_for(node, nr, graph, defined=None):
    """Zeros for an undefined gradient of output `nr` of a node; `defined` is the gradient of another output."""
    like = defined._a if isinstance(defined, Tensor) else defined
    if like is None or engine_of(like) is NUMPY:
        zeros = np.zeros(*node._output(nr))
    else:
        shape, dtype = node._output(nr)
        zeros = engine_of(like).zeros_like(like, dtype=dtype, shape=shape)
    return wrap(zeros) if graph else zeros


class Packed:
    """A saved value after a pack hook."""

    __slots__ = ("unpack", "value")

    def __init__(self, value, unpack):
        self.value = value
        self.unpack = unpack

    def array(self):
        tensor = self.unpack(self.value)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor)}"
            )
        return tensor._a


class Recomputed(Packed):
    """A saved value that is recomputed in backward, from values that are kept anyway."""

    __slots__ = ()


class WeakGuard:
    """A weak reference to a storage in a node's guards. A storage that was written to is kept, to be noticed."""

    engine = None  # saved tensors are not rebuilt on this storage
    changed = None

    def __init__(self, storage):
        self._storage = weakref.ref(storage)
        self._version = storage.version

    @property
    def version(self):
        storage = self._storage()
        return self._version if storage is None else storage.version

    @property
    def array(self):
        return self._storage().array

    @property
    def writer(self):
        return self._storage().writer

    def keep(self, storage):
        """Called when nothing else refers to the storage any more."""
        if storage.version != self._version:
            self.changed = storage


def weak_guard(storage):
    """The WeakGuard of a storage, one for all nodes."""
    guard = storage.guard() if type(storage) is WatchedStorage else None
    if guard is None:
        guard = WeakGuard(storage)
        storage.__class__ = WatchedStorage
        storage.guard = weakref.ref(guard)
    return guard


UNGUARDED = ((Storage(None), 0),)  # the guards of values that hooks keep: writes to these cannot be detected


def pack(t):
    """Packs a tensor with the current saved-tensor hooks."""
    if modes.saved_hooks_disabled is not None:
        raise RuntimeError(modes.saved_hooks_disabled)
    do_pack, unpack = modes.saved_hooks[-1]
    return Packed(do_pack(t), unpack)


def changed_error(node, storage, version):
    array = storage.array
    return RuntimeError(CHANGED.format(
        type=_dtypes.type_word(_dtypes.from_np(array.dtype)) + "Tensor", shape=list(array.shape), saver=name_of(node),
        now=storage.version, then=version, writer=storage.writer or "an in-place operation",
    ))


def name_of(node):
    """The name of a node. (On the ctx of a Function, users may have set an attribute ``name``.)"""
    return type(node).name(node)


def start(node, edges, result):
    """Fills in the fields that all nodes have."""
    node._edges = edges
    node._seq = next_sequence()
    node._count = 1
    node._hooked = not (node._out_hooks is node._pre_hooks is node._post_hooks is None)
    if type(result) is tuple and len(result) == 1:
        result = result[0]
    if type(result) is tuple:
        node._count = len(result)
        node._shape = tuple(getattr(a, "shape", None) for a in result)  # None for outputs that are not tensors
        node._dtype = tuple(getattr(a, "dtype", None) for a in result)
    else:
        node._shape = getattr(result, "shape", None)
        node._dtype = getattr(result, "dtype", None)
    if in_use.watched and modes.anomaly:
        node._trace = user_stack()
    return node


def user_stack():
    """The user's stack, innermost last, as (code, instruction) pairs: line numbers are looked up when needed."""
    stack, frame = [], sys._getframe(3)
    while frame is not None:
        stack.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    stack.reverse()
    return stack


def frames_of(stack):
    """Converts the result of ``user_stack`` to the traceback module's frame summaries."""
    lines = [next(itertools.islice(code.co_positions(), at // 2, None))[0] for code, at in stack]
    return [traceback.FrameSummary(code.co_filename, line, code.co_name) for (code, _), line in zip(stack, lines)]


def guard(t):
    """(storage, version), by which backward detects writes to `t`."""
    storage = t._storage
    if storage is None:
        storage = storage_of(t)
    elif storage.inference and modes.grad is not None:
        raise RuntimeError(INFERENCE_SAVED)
    return storage, storage.version


__all__ = ["AccumulateGrad", "Node", "OpNode", "Packed", "accumulate_node", "as_node",
           "edge_of", "guard", "next_sequence", "pack", "start"]
