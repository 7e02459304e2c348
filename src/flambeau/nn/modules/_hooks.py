"""The hooks of Modules: one registry, records instead of flags, and the slow path of a call.

A hook is a record: the function, and how it wants to be called. A module without hooks has no registry at all.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

from ... import _tape as tape
from ..._hooks import RemovableHandle, _HookDict
from ..._modes import modes
from ..._tensor import Tensor, View, edge_of, storage_of, wrap
from ...ops.shape import alias

KINDS = ("forward_pre", "forward", "backward_pre", "backward", "state_dict_pre", "state_dict", "load_pre", "load")
CALL_KINDS = ("forward_pre", "forward", "backward_pre", "backward")

MIXED_BACKWARD = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
)


class Hook(NamedTuple):
    """A registered function and how it is to be called."""

    function: object
    with_kwargs: bool = False
    always: bool = False
    full: bool = True  # of backward hooks: full, or of the old kind


class Hooks:
    """The hooks of one module, or those of all modules (the global ones)."""

    __slots__ = ("__weakref__", *KINDS)

    def __init__(self):
        for kind in KINDS:
            setattr(self, kind, _HookDict())

    def add(self, kind, hook, prepend=False):
        """Registers a record; returns its handle."""
        table = getattr(self, kind)
        if kind == "backward" and table and any(other.full != hook.full for other in table.values()):
            raise RuntimeError(MIXED_BACKWARD)
        handle = RemovableHandle(table)
        table[handle.id] = hook
        if prepend:
            rest = {k: v for k, v in table.items() if k != handle.id}
            table.clear()
            table[handle.id] = hook
            table.update(rest)
        return handle

    def in_call(self):
        """Whether a call of the module has hooks to run."""
        return bool(self.forward or self.forward_pre or self.backward or self.backward_pre)

    def __getstate__(self):
        return {kind: dict(getattr(self, kind)) for kind in KINDS}

    def __setstate__(self, state):
        for kind in KINDS:
            setattr(self, kind, _HookDict(state[kind]))


everywhere = Hooks()
registration = {"module": _HookDict(), "parameter": _HookDict(), "buffer": _HookDict()}


def call_with_hooks(module, hooks, args, kwargs):
    """``forward`` between the hooks: the global ones first, then the module's own, each kind in its order."""
    done = set()
    try:
        return _call(module, hooks, args, kwargs, done)
    except Exception:
        _call_always(module, hooks, args, kwargs, done)
        raise


def _call(module, hooks, args, kwargs, done):
    for hook in _both("forward_pre", hooks):
        args, kwargs = _run_pre(module, hook, args, kwargs)
    backward = list(_both("backward", hooks))
    full = [h.function for h in backward if h.full]
    pre = [h.function for h in _both("backward_pre", hooks)]
    watch = BackwardWatch(module, full, pre) if full or pre else None
    if watch is not None:
        args = watch.over_inputs(args)
    result = module.forward(*args, **kwargs)
    for table in (everywhere.forward, hooks.forward if hooks is not None else {}):
        for key, hook in list(table.items()):
            done.add(key)
            got = hook.function(module, args, kwargs, result) if hook.with_kwargs else hook.function(module, args, result)
            if got is not None:
                result = got
    if watch is not None:
        result = watch.over_outputs(result)
    old = [h.function for h in backward if not h.full]
    if old:
        _hang_old_hooks(module, old, result)
    return result


def _both(kind, hooks):
    """The hooks of a kind: global ones, then the module's own."""
    yield from list(getattr(everywhere, kind).values())
    if hooks is not None:
        yield from list(getattr(hooks, kind).values())


def _run_pre(module, hook, args, kwargs):
    if hook.with_kwargs:
        got = hook.function(module, args, kwargs)
        if got is None:
            return args, kwargs
        if isinstance(got, tuple) and len(got) == 2:
            return got
        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {got}.")
    got = hook.function(module, args)
    if got is None:
        return args, kwargs
    return got if isinstance(got, tuple) else (got,), kwargs


def _call_always(module, hooks, args, kwargs, done):
    """After an error: the hooks that asked to be called always and have not been yet."""
    for table in (everywhere.forward, hooks.forward if hooks is not None else {}):
        for key, hook in list(table.items()):
            if not hook.always or key in done:
                continue
            try:
                if hook.with_kwargs:
                    hook.function(module, args, kwargs, None)
                else:
                    hook.function(module, args, None)
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error}", stacklevel=2,
                )


# ---- full backward hooks


class BackwardWatch:
    """The full backward hooks of one call: they see the gradients of its inputs and of its outputs.

    Identity nodes stand before the inputs and behind the outputs. The tensors that pass them are views of the
    originals, so a module may still write to its input.
    """

    def __init__(self, module, hooks, pre_hooks):
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs = None
        self.inputs = ()  # which positional arguments are watched
        self.count = -1

    def over_inputs(self, args):
        self.count = len(args)
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
        if not places or not modes.grad:
            return args
        self.inputs = places
        passed = pass_through([args[i] for i in places], self.arrived_at_inputs)
        args = list(args)
        for i, t in zip(places, passed, strict=True):
            args[i] = t
        return tuple(args)

    def over_outputs(self, result):
        single = isinstance(result, Tensor)
        outputs = [result] if single else list(result) if isinstance(result, tuple | list) else None
        if outputs is None:
            return result
        places = [i for i, o in enumerate(outputs) if isinstance(o, Tensor) and o.requires_grad]
        if not places or not modes.grad:
            return result
        self.n_outputs, self.outputs = len(outputs), places
        for i, t in zip(places, pass_through([outputs[i] for i in places], self.arrived_at_outputs), strict=True):
            outputs[i] = t
        return outputs[0] if single else type(result)(outputs) if type(result) in (tuple, list) else type(result)(*outputs)

    def arrived_at_outputs(self, grads):
        full = [None] * self.n_outputs
        for i, g in zip(self.outputs, grads, strict=True):
            full[i] = g
        full = tuple(full)
        for hook in self.pre_hooks:
            got = hook(self.module, full)
            if got is not None:
                full = _same_length(got, len(full), "Backward pre hook")
        self.grad_outputs = full
        if not self.inputs:
            for hook in self.hooks:
                if hook(self.module, (None,) * max(self.count, 1), full) is not None:
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None "
                        "for all gradients."
                    )
        return [full[i] for i in self.outputs]

    def arrived_at_inputs(self, grads):
        if self.grad_outputs is None:
            return grads
        full = [None] * self.count
        for i, g in zip(self.inputs, grads, strict=True):
            full[i] = g
        full = tuple(full)
        for hook in self.hooks:
            got = hook(self.module, full, self.grad_outputs)
            if got is not None:
                full = _same_length(got, len(full), "Backward hook")
        self.grad_outputs = None
        return [full[i] for i in self.inputs]


def _same_length(got, n, who):
    got = got if isinstance(got, tuple) else (got,)
    if len(got) != n:
        raise RuntimeError(f"{who} returned an invalid number of grad, got {len(got)}, but expected {n}")
    return got


class BackwardHookFunctionBackward(tape.Node):
    """An identity that hands the gradients passing through it to a function, which may replace them."""

    def pull(self, grads, graph):
        grads = grads if self.count != 1 else [grads]
        seen = self.see([g if g is None or graph else wrap(g) for g in grads])
        return [g if g is None or graph else g._a for g in seen]


def pass_through(tensors, see):
    """Views of `tensors` behind one identity node."""
    node = BackwardHookFunctionBackward()
    node.see = see
    arrays = tuple(t._a for t in tensors)
    tape.start(node, tuple(edge_of(t) for t in tensors), arrays if len(arrays) > 1 else arrays[0])
    passed = []
    for nr, t in enumerate(tensors):
        out = wrap(t._a)
        out._storage = storage_of(t)
        out._view = View(t, (alias, {}, None), out._storage.version, None)
        out._node, out._nr, out._rg = node, nr, True
        passed.append(out)
    return passed


# ---- the old kind of backward hook


def _hang_old_hooks(module, functions, result):
    """Puts the hooks on the node of the first output, which sees only that node's own gradients."""
    var = result
    while not isinstance(var, Tensor):
        values = var.values() if isinstance(var, dict) else var
        var = next((v for v in values if isinstance(v, Tensor)), None) if values else None
        if var is None:
            return
    node = var.grad_fn
    if node is None:
        return
    for function in functions:
        node.register_hook(lambda grad_in, grad_out, f=function: f(module, grad_in, grad_out))
