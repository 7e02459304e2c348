"""User-defined operations with custom forward and backward."""

import functools
import inspect
import warnings

from .. import _tape as tape
from .._modes import in_use, modes, no_grad
from .._tensor import Tensor, edge_of, wrap
from ..engines.levels import level_of
from ._function_node import BackwardCFunction, FunctionCtx, NodeMethods, undefined_backward
from ._function_outputs import Outputs

LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method, and call {name}.apply(...) instead of {name}()(...)."
)
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class FunctionMeta(type):
    """Gives every Function its node class."""

    def __init__(cls, name, bases, attrs):
        super().__init__(name, bases, attrs)
        body = {"_forward_cls": cls, "__module__": BackwardCFunction.__module__}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), body)


class Function(NodeMethods, FunctionCtx, metaclass=FunctionMeta):
    """Base of user-defined operations.

    Give it static methods ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)`` — or ``forward(*args)``
    with ``setup_context(ctx, inputs, output)`` — and call it through ``apply``.

    With ``boxed_grads_call = True``, ``backward`` gets the gradients in one list, from which it may remove them to free
    memory early. With ``clear_saved_tensors_on_access = True``, saved tensors are dropped once they are accessed.

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
    boxed_grads_call = False
    clear_saved_tensors_on_access = False

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
        """Saves values for backward, if ``forward`` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    backward = vjp = staticmethod(undefined_backward)

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Forward-mode derivative. May be defined by the subclass."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """Batching rule. May be defined by the subclass."""
        raise NotImplementedError("To use autograd.Function with vmap, you must override the vmap staticmethod.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs the operation on `args` and records it. Keyword arguments are converted to positional ones."""
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args, kwargs = _with_defaults(cls.forward, args, kwargs)
        if kwargs:
            args = _in_position(cls.forward, args, kwargs, 0 if separate else 1)
        return cls.call(args)[1]

    @classmethod
    def call(cls, args):
        """(ctx, output) of the operation on `args`; recorded."""
        separate = cls.setup_context is not Function.setup_context
        level = level_of([a._a for a in args if isinstance(a, Tensor)]) if in_use.levels else None
        ctx = cls._backward_cls()
        edges = [edge_of(a) if isinstance(a, Tensor) else None for a in args]
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        recording = bool(modes.grad) and any(ctx.needs_input_grad)
        ctx._is_tensor = tuple(isinstance(a, Tensor) for a in args)
        ctx._edges = tuple(e for e, is_tensor in zip(edges, ctx._is_tensor, strict=True) if is_tensor)
        if level is not None:
            output = level.call_function(cls, args, separate)
            if not separate:
                return ctx, output
        with no_grad():
            if level is not None:
                cls.setup_context(ctx, args, output)
            elif separate:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        several = isinstance(output, tuple)
        outputs = Outputs(ctx, list(output) if several else [output], args, recording, separate).connect()
        ctx._finish(outputs, recording)
        return ctx, tuple(outputs) if several else outputs[0]


def _with_defaults(forward, args, kwargs):
    """The arguments of a call of `forward`, with defaults filled in."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _in_position(forward, args, kwargs, skip):
    """`args` and `kwargs` as positional arguments of `forward`, whose first `skip` parameters are not the caller's."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(forward).parameters.values()
    names = [p.name for p in parameters if p.kind in kinds][skip:]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument {name!r}")
        if name in names[:len(args)]:
            raise TypeError(f"forward() got multiple values for argument {name!r}")
    last = max(map(names.index, kwargs))
    for place, name in enumerate(names[len(args):last], len(args)):
        if name not in kwargs:
            raise TypeError(f"forward() missing required argument: {name!r} (position {place})")
    return (*args, *[kwargs[name] for name in names[len(args):last + 1]])


def once_differentiable(fn):
    """Decorator for ``backward``: it runs unrecorded, and differentiating its result is an error."""

    @functools.wraps(fn)
    def wrapper(ctx, *args, **kwargs):
        with no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not modes.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = isinstance(outputs, tuple)
        sealed = tuple(_seal(o, args) if isinstance(o, Tensor) else o for o in (outputs if several else (outputs,)))
        return sealed if several else sealed[0]

    return wrapper


class DelayedError(tape.Node):
    """A node that raises in backward."""

    def _pull(self, grads, graph):
        raise RuntimeError(TWICE)


DelayedError.__name__ = "Error"


def _seal(t, args):
    """The tensor with a node that raises in backward."""
    out = wrap(t._a)
    edges = tuple(edge_of(a) for a in args if isinstance(a, Tensor))
    out._node, out._rg = tape.start(DelayedError(), edges, t._a), True
    return out


class InplaceFunction(Function):
    """A Function with an ``inplace`` flag, for compatibility."""

    def __init__(self, inplace=False):
        self.inplace = inplace


class NestedIOFunction(Function):
    """Exists for compatibility: nested inputs and outputs were part of PyTorch's legacy functions."""

    def forward(self, *args):
        """Raises: legacy functions are not supported."""
        raise RuntimeError(LEGACY.format(name=type(self).__name__))

    backward = forward_extended = backward_extended = forward

    @property
    def saved_tensors(self):
        """Raises: legacy functions are not supported."""
        self._raise_retired()
