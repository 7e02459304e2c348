"""The node of a Function call: its ctx methods, and the call of its ``backward``."""

from __future__ import annotations

from .. import _tape as tape
from .._modes import modes
from .._size import broadcasts
from .._tensor import LEAF, Tensor, edge_of, wrap
from ..ops._plan import at_edge

SAVED_NO_TENSOR = (
    "save_for_backward can only save variables, but argument is of type {kind}; put other things on ctx as attributes"
)
BOTH_BACKWARDS = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
    "them."
)
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
ACCESSED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Keep what the first access returned in a variable, or remove clear_saved_tensors_on_access."
)


class FunctionCtx:
    """The ctx of a Function, which is also its node in the graph."""

    to_save: tuple = ()
    dirty_tensors: tuple = ()
    non_differentiable: tuple = ()
    materialize_grads = True
    needs_input_grad: tuple = ()

    def save_for_backward(self, *tensors):
        """Saves tensors (or None) for ``backward``, which reads them from ``ctx.saved_tensors``."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(SAVED_NO_TENSOR.format(kind=type(t).__name__))
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Saves tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Marks inputs that ``forward`` modified in place; it must return them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Marks outputs that have no gradient."""
        for arg in args:
            if not isinstance(arg, Tensor):
                raise RuntimeError(f"mark_non_differentiable only accepts variable arguments, got {type(arg).__name__}")
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs):
        """No effect: shared storage is detected automatically."""

    def set_materialize_grads(self, value):
        """Sets whether undefined gradients are passed to ``backward`` as zeros (the default) or as None."""
        self.materialize_grads = bool(value)


class NodeMethods:
    """The node methods that PyTorch lists on Function."""

    def __repr__(self):
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def name(self):
        return tape.Node.name(self)

    def register_hook(self, fn):
        return tape.Node.register_hook(self, fn)

    def register_prehook(self, fn):
        return tape.Node.register_prehook(self, fn)

    def maybe_clear_saved_tensors(self):
        self._free()


class BackwardCFunction(NodeMethods, FunctionCtx, tape.Node):
    """The node of a Function call; its class is named after the Function: ``MyOpBackward``."""

    _forward_cls: type
    _saved: tuple | None = ()
    _is_dropped = False  # whether the saved tensors were accessed and dropped

    @property
    def saved_tensors(self):
        """The tensors from ``save_for_backward``; raises if they have been modified since."""
        if self._is_dropped:
            raise RuntimeError(ACCESSED)
        if self._saved is None:
            raise tape.graph_freed()
        tensors = tuple(None if entry is None else entry.tensor(self) for entry in self._saved)
        if self._forward_cls.clear_saved_tensors_on_access:
            self._saved, self._is_dropped = (), True
        return tensors

    @property
    def saved_variables(self):
        return self.saved_tensors

    def _free(self):
        if self._saved:
            self._saved = None

    def _finish(self, outputs, recording):
        """After ``forward``: saves the requested tensors, without creating reference cycles."""
        if recording:
            self._saved = tuple(None if t is None else SavedTensor(t, self, outputs) for t in self.to_save)
        self.to_save = self.dirty_tensors = self.non_differentiable = ()

    # ---- backward

    def _user_backward(self):
        """The ``backward`` or ``vjp`` of the Function, whichever it defines."""
        defined = [f for f in (self._forward_cls.backward, self._forward_cls.vjp) if f is not undefined_backward]
        if len(defined) == 2:
            raise RuntimeError(BOTH_BACKWARDS)
        return defined[0] if defined else undefined_backward

    def apply(self, *args):
        """Runs the user's backward."""
        if self._forward_cls.boxed_grads_call:
            args = (list(args),)
        return self._user_backward()(self, *args)

    def apply_boxed(self, *args):
        """Runs the user's backward on a list of gradients, from which it may remove them."""
        return self._user_backward()(self, *args)

    def apply_jvp(self, *args):
        return self._forward_cls.jvp(self, *args)

    def _pull(self, grads, graph):
        """The gradients of the tensor arguments (the engine's call)."""
        grads = list(grads) if type(grads) is list else [grads]
        grads = [g if graph or g is None else wrap(g) for g in grads]
        if self.materialize_grads:
            defined = next((g for g in grads if g is not None), None)
            for nr, g in enumerate(grads):
                if g is None and self._output(nr)[1] is not None:
                    grads[nr] = tape.zeros_for(self, nr, True, defined)
        boxed = self._forward_cls.boxed_grads_call
        results = self.apply_boxed(grads) if boxed else self.apply(*grads)
        return self._check_results(results if isinstance(results, tuple) else (results,), graph)

    def _pull_undefined(self, graph):
        return self._pull([None] * self._count, graph)

    def _check_results(self, results, graph):
        """Checks the results: one per argument, None for those that are not tensors."""
        n = len(self._is_tensor)
        if (len(results) > n and any(r is not None for r in results[n:])) or len(results) < n:
            raise RuntimeError(
                f"function {tape.name_of(self)} returned an incorrect number of gradients (expected {n}, got "
                f"{len(results)})"
            )
        gradients = []
        for i, (is_tensor, r) in enumerate(zip(self._is_tensor, results, strict=False)):
            if is_tensor:
                gradients.append(self._checked_gradient(i, r, self._edges[len(gradients)], graph))
            elif r is not None:
                raise RuntimeError(
                    f"function {tape.name_of(self)} returned a gradient different from None at position {i + 1}, but "
                    "the corresponding forward input was not a Variable"
                )
        return gradients

    def _checked_gradient(self, i, grad, edge, graph):
        if grad is None:
            return None
        if not isinstance(grad, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(grad).__name__}): function {tape.name_of(self)} returned it at "
                f"position {i + 1}"
            )
        if edge is not None and (fault := misfit(grad, *edge)):
            raise RuntimeError(f"Function {tape.name_of(self)} returned an invalid gradient at index {i} - {fault}")
        return grad if graph else grad._a


def misfit(grad, target, nr):
    """A message that says why a tensor cannot be the gradient of a leaf or of a node's output; None if it can."""
    is_leaf = nr == LEAF
    shape, dtype = (target._a.shape, target._a.dtype) if is_leaf else target._output(nr)
    if is_leaf and grad.device != target.device:
        return f"expected device {target.device} but got {grad.device}"
    if grad.dtype.is_complex and dtype.kind != "c":
        return f"expected a real gradient but got {grad.dtype}: the input is real, so return the real part"
    if not broadcasts(shape, tuple(grad.shape)):
        return f"got {list(grad.shape)} but expected shape compatible with {list(shape)}"
    return None


def undefined_backward(ctx, *grad_outputs):
    """Computes the arguments' gradients from those of the outputs. To be defined by the subclass."""
    raise NotImplementedError(NO_BACKWARD)


class SavedTensor:
    """A tensor saved by save_for_backward. Of an output only the memory is held, to avoid a reference cycle."""

    def __init__(self, t, node, outputs):
        self.nr = t._nr if t._node is node and any(t is out for out in outputs) else None
        self.guard = tape.guard(t)
        self.value = t if self.nr is None else t._a
        if modes.saved_hooks:
            self.guard, = tape.UNGUARDED
            self.edge = edge_of(t) if self.nr is None else None
            self.value = tape.pack(t if self.nr is None else wrap(t._a))

    def tensor(self, node):
        storage, version = self.guard
        if storage.version != version:
            raise tape.changed_error(node, storage, version)
        value, edge = self.value, None if self.nr is None else (node, self.nr)
        if type(value) is tape.Packed:
            value, edge = value.array(), edge or self.edge
            return wrap(value) if edge is None else at_edge(value, edge)
        if edge is None:
            return value
        t = at_edge(value, edge)
        t._storage = storage
        return t
