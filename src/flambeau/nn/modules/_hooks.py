"""The hooks of Modules: one registry, and the call of a module that has some.

A hook is stored as the user's function, or as a record (`Hook`) if it was registered with flags that change how it is
called. A module without hooks has no registry.
"""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from ... import _tape as tape
from ..._hooks import add_hook
from ..._modes import modes
from ..._tensor import Tensor, View, edge_of, share, wrap
from ...ops.shape import alias

KINDS = ("forward_pre", "forward", "backward_pre", "backward", "state_dict_pre", "state_dict", "load_pre", "load")

MIXED_BACKWARD = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
)
WRONG_PRE_RESULT = "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {got}."
SILENCED = (
    "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised "
    "in forward: {error}"
)
NO_INPUT_GRAD = (
    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
)
NO_TENSORS = (
    "For backward hooks to be called, module output should be a Tensor or a tuple or list of Tensors but received "
    "{kind}"
)
OLD_KIND = (
    "A backward hook of the old kind sees one autograd node only, and this module {reason}: some of {lost} will be "
    "missing. It is deprecated; use register_full_backward_hook instead."
)


class Hook(NamedTuple):
    """A hook with flags that change how it is called."""

    function: Callable
    with_kwargs: bool = False  # forward and forward_pre: also gets the keyword arguments
    always: bool = False  # forward: also called when an error leaves the module
    with_module: bool = False  # load_pre: also gets the module
    may_replace: bool = False  # state_dict: what it returns is the new state dict

    def __call__(self, *args, **kwargs):
        """For code that calls entries of a hook table, which in PyTorch are the functions."""
        return self.function(*args, **kwargs)

    def __deepcopy__(self, memo):
        return self._replace(function=copy.deepcopy(self.function, memo))

    def __reduce__(self):
        """Pickled as the function, as in PyTorch's tables; the flags are in tables of their own."""
        if self.with_module or self.may_replace:
            return Hook, tuple(self)
        return copy.copy, (self.function,)


def as_hook(function, **flags):
    """The function itself if all flags are off, otherwise a record."""
    return Hook(function, **flags) if any(flags.values()) else function


class Hooks:
    """The hooks of one module, or the global ones."""

    __slots__ = ("compiled", "full", *KINDS)

    def __init__(self):
        self.compiled = None  # the compiled call, which is neither copied nor pickled
        self.full = None  # whether the backward hooks are full ones; None before the first
        for kind in KINDS:
            setattr(self, kind, OrderedDict())

    def add(self, kind, hook, prepend=False):
        """Registers a hook; returns its handle."""
        return add_hook(getattr(self, kind), hook, prepend)

    def settle_backward(self, full):
        """Checks that the backward hooks of one registry are all full or all deprecated ones."""
        if self.full is not None and self.full != full:
            raise RuntimeError(MIXED_BACKWARD)
        self.full = full

    def around_calls(self):
        """Whether there are hooks that calls run."""
        return self.forward_pre or self.forward or self.backward_pre or self.backward

    def __deepcopy__(self, memo):
        copied = memo[id(self)] = Hooks()
        copied.full = self.full
        for kind in KINDS:
            setattr(copied, kind, copy.deepcopy(getattr(self, kind), memo))
        return copied

    def __reduce__(self):
        """Pickled as None: the module's tables hold everything, under PyTorch's names."""
        return type(None), ()


global_hooks = Hooks()
registration: dict[str, OrderedDict] = {"module": OrderedDict(), "parameter": OrderedDict(), "buffer": OrderedDict()}


_compilers: list[Callable] = []


def register_compiler(compiler):
    """Sets the compiler of ``Module.compile``: ``compiler(module, *args, **kwargs)`` returns what calls run."""
    _compilers[:] = [compiler]


def compile_call(module, *args, **kwargs):
    """Compiles a module; returns the function that its calls run."""
    return _compilers[0](module, *args, **kwargs)


def has_plain_call(module):
    """Whether a call of the module only runs its ``forward``."""
    own = module._hook_registry
    return own is None or not (own.compiled is not None or own.around_calls() or global_hooks.around_calls())


def call_with_hooks(module, args, kwargs):
    """A call of a module that has hooks, or is compiled."""
    compiled = module._hook_registry.compiled
    return run_with_hooks(module, *args, **kwargs) if compiled is None else compiled(*args, **kwargs)


def run_with_hooks(module, /, *args, **kwargs):
    """Runs ``forward`` and the hooks: of each kind the global ones first, then the module's."""
    own = module._hook_registry
    if own is None or not (own.around_calls() or global_hooks.around_calls()):
        return module.forward(*args, **kwargs)
    watch, old = BackwardWatch.of(module), _old_hooks(module)
    result, called = None, set()
    try:
        for hook in (*global_hooks.forward_pre.values(), *own.forward_pre.values()):
            args, kwargs = _before_forward(hook, module, args, kwargs)
        if watch is not None:
            args = watch.over_inputs(args)
        result = module.forward(*args, **kwargs)
        own = module._hook_registry  # hooks, or forward, may have registered the module's first hook
        for key, hook in (*global_hooks.forward.items(), *own.forward.items()):
            called.add(key)
            got = _after_forward(hook, module, args, kwargs, result)
            if got is not None:
                result = got
    except Exception:
        _call_always(module, args, kwargs, result, called)
        raise
    if watch is not None:
        result = watch.over_outputs(result)
    if old:
        register_legacy_hooks(old, module, args, result)
    return result


def _before_forward(hook, module, args, kwargs):
    """The arguments after a forward pre-hook."""
    if type(hook) is Hook:
        got = hook.function(module, args, kwargs)
        if got is None:
            return args, kwargs
        if isinstance(got, tuple) and len(got) == 2:
            return got
        raise RuntimeError(WRONG_PRE_RESULT.format(got=got))
    got = hook(module, args)
    if got is None:
        return args, kwargs
    return got if isinstance(got, tuple) else (got,), kwargs


def _after_forward(hook, module, args, kwargs, result):
    if type(hook) is not Hook:
        return hook(module, args, result)
    return hook.function(module, args, kwargs, result) if hook.with_kwargs else hook.function(module, args, result)


def _call_always(module, args, kwargs, result, called):
    """After an error, calls the remaining forward hooks registered with ``always_call``."""
    for key, hook in (*global_hooks.forward.items(), *module._hook_registry.forward.items()):
        if type(hook) is Hook and hook.always and key not in called:
            try:
                got = _after_forward(hook, module, args, kwargs, result)
                result = result if got is None else got
            except Exception as error:
                warnings.warn(SILENCED.format(error=error), stacklevel=2)


# ---- full backward hooks


class BackwardWatch:
    """The full backward hooks of one call: they receive the gradients of its inputs and outputs.

    Identity nodes are inserted before the inputs and after the outputs. Their outputs are views of the originals, so a
    module may still write to its input.
    """

    def __init__(self, module, hooks, pre_hooks):
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.n_inputs = 0
        self.inputs = self.outputs = ()  # indices of the watched inputs
        self.grad_outputs = None

    @classmethod
    def of(cls, module):
        """The watch for a call of `module` with its current hooks; None if all are deprecated ones."""
        registries = (global_hooks, module._hook_registry)
        hooks = [h for r in registries if r.full for h in r.backward.values()]
        pre_hooks = [h for r in registries for h in r.backward_pre.values()]
        return cls(module, hooks, pre_hooks) if hooks or pre_hooks else None

    def over_inputs(self, args):
        self.n_inputs = len(args)
        args, self.inputs = _pass_through_node(args, AtInputs, self.at_inputs)
        return args

    def over_outputs(self, result):
        if isinstance(result, (tuple, list)):
            self.n_outputs = len(result)
            result, self.outputs = _pass_through_node(result, BackwardHookFunctionBackward, self.at_outputs)
            return result
        if not isinstance(result, Tensor):
            warnings.warn(NO_TENSORS.format(kind=type(result).__name__), stacklevel=5)
        self.n_outputs = 1
        (result,), self.outputs = _pass_through_node((result,), BackwardHookFunctionBackward, self.at_outputs)
        return result

    def at_outputs(self, grads):
        """Called with the gradients of the outputs."""
        full = _spread(grads, self.outputs, self.n_outputs)
        for hook in self.pre_hooks:
            got = hook(self.module, full)
            full = _replace(full, got, "Backward pre hook returned an invalid number of grad_output")
        if self.inputs:
            self.grad_outputs = full
        else:  # nothing will arrive at the inputs: call now
            for hook in self.hooks:
                got = hook(self.module, (None,) * self.n_inputs, full)
                if got is not None and not (isinstance(got, tuple) and all(g is None for g in got)):
                    raise RuntimeError(NO_INPUT_GRAD)
        return [full[i] for i in self.outputs]

    def at_inputs(self, grads):
        """Called with the gradients of the inputs; those of the outputs are known, unless they were not needed."""
        if self.grad_outputs is None:
            return grads
        full = _spread(grads, self.inputs, self.n_inputs)
        for hook in self.hooks:
            got = hook(self.module, full, self.grad_outputs)
            full = _replace(full, got, "Backward hook returned an invalid number of grad_input")
        self.grad_outputs = None
        return [full[i] for i in self.inputs]


def _spread(values, places, n):
    """A tuple of length `n` with the values at their indices, None elsewhere."""
    full = [None] * n
    for place, value in zip(places, values, strict=True):
        full[place] = value
    return tuple(full)


def _replace(grads, got, complaint):
    """The gradients, replaced by what a hook returned."""
    if got is None:
        return grads
    got = (got,) if isinstance(got, Tensor) else got
    if len(got) != len(grads):
        raise RuntimeError(f"{complaint}, got {len(got)}, but expected {len(grads)}")
    for grad in got:
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(f"a backward hook returned a {type(grad).__name__} where a gradient was expected")
    return got


def _pass_through_node(values, node_class, see):
    """`values` with tensors passed through one identity node, and their indices; () if none requires grad."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not (modes.grad and any(values[i].requires_grad for i in places)):
        return values, ()
    new = list(values)
    for place, tensor in zip(places, pass_through([values[i] for i in places], node_class, see), strict=True):
        new[place] = tensor
    kind = type(values)
    return (kind(new) if kind in (tuple, list) else kind(*new)), places


class BackwardHookFunctionBackward(tape.Node):
    """An identity that passes gradients to a function, which may replace them."""

    def _pull(self, grads, graph):
        grads = [grads] if self._count == 1 else grads
        seen = self.see([g if g is None or graph else wrap(g) for g in grads])
        return [g if g is None or graph else g._a for g in seen]


class AtInputs(BackwardHookFunctionBackward):
    """The identity before the inputs, which replaces undefined gradients by zeros."""

    def _pull(self, grads, graph):
        if self._count > 1:
            grads = [tape.zeros_for(self, nr, graph) if g is None else g for nr, g in enumerate(grads)]
        return super()._pull(grads, graph)


AtInputs.__name__ = BackwardHookFunctionBackward.__name__


def pass_through(tensors, node_class, see):
    """Passes `tensors` through one identity node, as views; those that do not require grad are returned unchanged."""
    node = node_class()
    node.see = see
    arrays = tuple(t._a for t in tensors)
    tape.start(node, tuple(edge_of(t) for t in tensors), arrays)
    return [_behind(node, nr, t) if t.requires_grad else t for nr, t in enumerate(tensors)]


def _behind(node, nr, t):
    out = share(object.__new__(Tensor), t)
    out._view = View.of(t, (alias, {}, None), out._storage.version, None)
    out._node, out._nr, out._rg = node, nr, True
    return out


# ---- backward hooks of the old kind


def _old_hooks(module):
    return [hook for r in (global_hooks, module._hook_registry) if r.full is False for hook in r.backward.values()]


def register_legacy_hooks(functions, module, args, result):
    """Registers deprecated hooks on the node of the result's first tensor; warns if that misses part of the module."""
    node = _first_tensor(result).grad_fn
    if node is None:
        return
    for function in functions:
        node.register_hook(lambda grad_in, grad_out, f=function: f(module, grad_in, grad_out))
    lost = _missed_by_legacy_hooks(node, args, result)
    if lost is not None:
        warnings.warn(OLD_KIND.format(reason=lost[0], lost=lost[1]), FutureWarning, stacklevel=5)


def _first_tensor(result):
    while not isinstance(result, Tensor):
        result = next(v for v in result.values() if isinstance(v, Tensor)) if isinstance(result, dict) else result[0]
    return result


def _missed_by_legacy_hooks(node, args, result):
    """(reason, gradients) that hooks on `node` would miss; None if there are none."""
    outputs = (result,) if isinstance(result, Tensor) else result
    if not isinstance(outputs, tuple) or not all(isinstance(o, Tensor) for o in outputs):
        return "returns something else than a tensor or a tuple of tensors", "grad_output"
    if not all(isinstance(a, Tensor) for a in args):
        return "takes something else than tensors", "grad_input"
    if {o.grad_fn for o in outputs} - {None, node}:
        return "returns tensors that were made by different nodes", "grad_output"
    if {a.grad_fn for a in args} - {None} != {n for n, _ in node.next_functions}:
        return "runs several nodes", "grad_input"
    return None
