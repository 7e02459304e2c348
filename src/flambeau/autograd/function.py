"""User-defined operations: a forward and a backward of one's own."""

from __future__ import annotations

import functools
import warnings

import numpy as np

from .. import _tape as tape
from .._dtypes import is_inexact
from .._modes import modes, no_grad
from .._tensor import LEAF_INPLACE, Tensor, edge_of, refresh, storage_of, wrap
from ..ops.shape import alias
from ._writes import take_history

LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method, and call {name}.apply(...) instead of {name}()(...)."
)
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class FunctionCtx:
    """What ``forward`` notes for ``backward``. The same object is the node of the graph."""

    _to_save: tuple = ()
    _dirty: tuple = ()
    _non_differentiable: tuple = ()
    _materialize = True
    needs_input_grad: tuple = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for ``backward``, where ``ctx.saved_tensors`` gives them back."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(t).__name__}; "
                    "put other things on ctx as attributes"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Says which inputs ``forward`` has written to; it must return them."""
        self._dirty = args

    def mark_non_differentiable(self, *args):
        """Says which outputs have no gradient."""
        self._non_differentiable = args

    def mark_shared_storage(self, *pairs):
        """Does nothing: shared memory is noticed without it."""

    def set_materialize_grads(self, value):
        """Whether missing gradients reach ``backward`` as zeros (the default) or as None."""
        self._materialize = bool(value)


class _Hooks:
    """What a node offers, as PyTorch lists it on Function."""

    def name(self):
        return tape.Node.name(self)

    def register_hook(self, fn):
        return tape.Node.register_hook(self, fn)

    def register_prehook(self, fn):
        return tape.Node.register_prehook(self, fn)

    def maybe_clear_saved_tensors(self):
        self.free()


class BackwardCFunction(_Hooks, FunctionCtx, tape.Node):
    """The node of a call of a Function; its class is named after it: ``MyOpBackward``."""

    _forward_cls: type
    _saved: tuple | None = ()

    @property
    def saved_tensors(self):
        """What ``save_for_backward`` kept, checked against writes since."""
        if self._saved is None:
            raise tape.graph_freed()
        return tuple(None if entry is None else entry.tensor(self) for entry in self._saved)

    @property
    def saved_variables(self):
        return self.saved_tensors

    def free(self):
        if self._saved:
            self._saved = None

    def apply(self, *args):
        """Runs the user's backward."""
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is Function.backward and vjp is not Function.vjp:
            backward = vjp
        return backward(self, *args)

    apply_boxed = apply

    def apply_jvp(self, *args):
        return self._forward_cls.jvp(self, *args)

    def pull(self, grads, graph):
        """The gradients of the tensor arguments (the engine's call)."""
        grads = grads if type(grads) is list else [grads]
        given = [g if graph or g is None else wrap(g) for g in grads]
        if self._materialize:
            came = next(g for g in given if g is not None)
            given = [tape.zeros_for(self, nr, True, came) if g is None else g for nr, g in enumerate(given)]
        results = self.apply(*given)
        results = results if isinstance(results, tuple) else (results,)
        return self._checked(results, graph)

    def _checked(self, results, graph):
        """One result a tensor argument; what belongs to other arguments must be None."""
        n = len(self._is_tensor)
        if (len(results) > n and any(r is not None for r in results[n:])) or len(results) < n:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, got {len(results)})"
            )
        found = []
        for i, (is_tensor, r) in enumerate(zip(self._is_tensor, results, strict=False)):
            if not is_tensor:
                if r is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different from None at position {i + 1}, but the "
                        "corresponding forward input was not a Variable"
                    )
                continue
            if r is not None and not isinstance(r, Tensor):
                raise RuntimeError(
                    f"function {self.name()} returned a gradient of type {type(r).__name__} at position {i + 1}; "
                    "expected a Tensor or None"
                )
            found.append(r if graph or r is None else r._a)
        return found


class _Saved:
    """A tensor kept by save_for_backward. An output is kept by its memory alone, or it would keep itself alive."""

    def __init__(self, t, outputs):
        self.nr = next((nr for nr, out in enumerate(outputs) if out is t), None)
        self.guard = tape.guard(t)
        self.held = t if self.nr is None else t._a
        if modes.saved_hooks:
            self.guard, = tape.IN_OTHER_HANDS
            self.held = tape.pack(t if self.nr is None else wrap(t._a))

    def tensor(self, node):
        storage, version = self.guard
        if storage.version != version:
            raise tape.changed(node, storage, version)
        held = self.held
        if type(held) is tape.Packed:
            held = wrap(held.array())
        if self.nr is None:
            return held
        t = wrap(held if not isinstance(held, Tensor) else held._a)
        t._node, t._nr, t._rg = node, self.nr, True
        return t


class FunctionMeta(type):
    """Gives every Function its node class."""

    def __init__(cls, name, bases, attrs):
        super().__init__(name, bases, attrs)
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})


class Function(_Hooks, FunctionCtx, metaclass=FunctionMeta):
    """Base of user-defined operations.

    Give it static methods ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)`` — or ``forward(*args)``
    with ``setup_context(ctx, inputs, output)`` — and call it through ``apply``.

    Example::

        >>> class Double(flambeau.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> Double.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            f"invoke them on the class itself: {type(self).__name__}.apply(...).", DeprecationWarning, stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(LEGACY.format(name=type(self).__name__))

    @staticmethod
    def forward(*args, **kwargs):
        """The operation. To be defined by the subclass."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Notes for backward, where ``forward`` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of the arguments, given those of the outputs. To be defined by the subclass."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Forward-mode derivative. To be defined by the subclass where it is wanted."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """Batching rule. To be defined by the subclass where it is wanted."""
        raise NotImplementedError("To use autograd.Function with vmap, you must override the vmap staticmethod.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs the operation on `args` and records it."""
        ctx = cls._backward_cls()
        edges = [edge_of(a) if isinstance(a, Tensor) else None for a in args]
        ctx.needs_input_grad = tuple(e is not None for e in edges)
        recording = bool(modes.grad) and any(ctx.needs_input_grad)
        ctx._is_tensor = tuple(isinstance(a, Tensor) for a in args)
        ctx.next = tuple(e for e, is_tensor in zip(edges, ctx._is_tensor, strict=True) if is_tensor)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        many = isinstance(output, tuple)
        outputs = list(output) if many else [output]
        for i, out in enumerate(outputs):
            outputs[i] = _placed(ctx, out, args, recording)
        if recording:
            _connect(ctx, outputs)
            ctx._saved = tuple(None if t is None else _Saved(t, outputs) for t in ctx._to_save)
        ctx._to_save = ctx._dirty = ctx._non_differentiable = ()  # outputs that it held would keep themselves alive
        return tuple(outputs) if many else outputs[0]


def _placed(ctx, out, args, recording):
    """An output as it leaves apply: an input that was returned unchanged becomes an alias of it."""
    if not isinstance(out, Tensor):
        return out
    dirty = any(out is d for d in ctx._dirty)
    if dirty:
        if recording and out._rg and out._node is None and out._view is None:
            raise RuntimeError(LEAF_INPLACE)
        storage_of(out).version += 1
        storage_of(out).writer = ctx.name()
        return out
    if any(out is a for a in args):
        with no_grad():
            out = alias(out)
        out._view = None
    return out


def _connect(ctx, outputs):
    """Makes `ctx` the node of the outputs."""
    tensors = [o if isinstance(o, Tensor) else None for o in outputs]
    arrays = tuple(t._a if t is not None else np.zeros(()) for t in tensors)
    tape.start(ctx, ctx.next, arrays if len(arrays) != 1 else arrays[0])
    for nr, t in enumerate(tensors):
        if t is None or not is_inexact(t._a.dtype) or any(t is n for n in ctx._non_differentiable):
            continue
        if any(t is d for d in ctx._dirty) and t._view is not None:
            result = wrap(t._a)
            result._node, result._nr, result._rg = ctx, nr, True
            take_history(t, result)
        else:
            if t._view is not None:
                refresh(t)
                t._view.origin = "custom"
            t._node, t._nr, t._rg = ctx, nr, True


def once_differentiable(fn):
    """Decorator for ``backward``: it runs unrecorded, and differentiating its result is an error."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        recording = modes.grad and any(isinstance(a, Tensor) and a.requires_grad for a in args)
        with no_grad():
            outputs = fn(ctx, *args)
        if not recording:
            return outputs
        many = isinstance(outputs, tuple)
        sealed = tuple(
            _sealed(o, args) if isinstance(o, Tensor) else o for o in (outputs if many else (outputs,))
        )
        return sealed if many else sealed[0]

    return wrapper


class DelayedError(tape.Node):
    """A node that cannot be gone through."""

    def pull(self, grads, graph):
        raise RuntimeError(TWICE)


def _sealed(t, args):
    """The tensor in the graph, behind a node that raises."""
    out = wrap(t._a)
    edges = tuple(edge_of(a) for a in args if isinstance(a, Tensor))
    out._node, out._rg = tape.start(DelayedError(), edges, t._a), True
    return out


class InplaceFunction(Function):
    """A Function with an ``inplace`` flag, kept for old code."""

    def __init__(self, inplace=False):
        self.inplace = inplace


class NestedIOFunction(Function):
    """Kept for its name: nested inputs and outputs were part of PyTorch's old, non-static functions."""

    def _retired(self, *args, **kwargs):
        raise RuntimeError(LEGACY.format(name=type(self).__name__))

    def backward(self, *gradients):
        self._retired()

    def forward(self, *args):
        self._retired()

    def backward_extended(self, *grad_output):
        """Raises: this form of functions is retired."""
        self._retired()

    def forward_extended(self, *input):
        """Raises: this form of functions is retired."""
        self._retired()

    @property
    def saved_tensors(self):
        """Raises: this form of functions is retired."""
        self._retired()
