"""Registering hooks: on one module, and on all of them."""

from __future__ import annotations

from ..._hooks import add_hook
from ._hook_tables import FLAGS, TABLES, FlagTable, flag_table, full_flag, hook_table, own_hooks
from ._hooks import Hooks, as_hook, global_hooks, registration

__all__ = ["register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]


class Hookable:
    """The part of Module that registers hooks."""

    _hook_registry: Hooks | None = None  # of the class: not None once there are hooks on all modules

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls ``hook(module, args)`` before ``forward``; what it returns replaces the arguments."""
        return own_hooks(self).add("forward_pre", as_hook(hook, with_kwargs=with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls ``hook(module, args, output)`` after ``forward``; what it returns replaces the output."""
        return own_hooks(self).add("forward", as_hook(hook, with_kwargs=with_kwargs, always=always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_output)`` when the gradients of the outputs are computed."""
        return own_hooks(self).add("backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are computed."""
        own_hooks(self).settle_backward(full=True)
        self._is_full_backward_hook = True
        return own_hooks(self).add("backward", hook, prepend)

    def register_backward_hook(self, hook):
        """Deprecated backward hook, which sees the last operation only. Use ``register_full_backward_hook``."""
        own_hooks(self).settle_backward(full=False)
        self._is_full_backward_hook = False
        return own_hooks(self).add("backward", hook)

    def register_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads this module."""
        return own_hooks(self).add("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict`` read this module."""
        return own_hooks(self).add("state_dict", hook)

    def _register_state_dict_hook(self, hook):
        return own_hooks(self).add("state_dict", as_hook(hook, may_replace=True))

    def register_load_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, ...)`` before this module is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return own_hooks(self).add("load_pre", as_hook(hook, with_module=with_module))

    def register_load_state_dict_post_hook(self, hook):
        """Calls ``hook(module, incompatible_keys)`` after this module was loaded."""
        return own_hooks(self).add("load", hook)

    _is_full_backward_hook = full_flag
    _backward_pre_hooks = hook_table("_backward_pre_hooks")
    _backward_hooks = hook_table("_backward_hooks")
    _forward_pre_hooks = hook_table("_forward_pre_hooks")
    _forward_pre_hooks_with_kwargs = flag_table("_forward_pre_hooks_with_kwargs")
    _forward_hooks = hook_table("_forward_hooks")
    _forward_hooks_with_kwargs = flag_table("_forward_hooks_with_kwargs")
    _forward_hooks_always_called = flag_table("_forward_hooks_always_called")
    _state_dict_pre_hooks = hook_table("_state_dict_pre_hooks")
    _state_dict_hooks = hook_table("_state_dict_hooks")
    _load_state_dict_pre_hooks = hook_table("_load_state_dict_pre_hooks")
    _load_state_dict_post_hooks = hook_table("_load_state_dict_post_hooks")


# ---- hooks on all modules

REGISTRATION_TABLES = {f"_{kind}_registration_hooks": kind for kind in registration}


def _global_registry():
    """The registry of global hooks; from now on, every module call checks it."""
    if Hookable._hook_registry is None:
        Hookable._hook_registry = Hooks()
    return global_hooks


def global_table(name):
    """A table of global hooks, by PyTorch's name; hooks may be added to it."""
    name = name.removeprefix("_global")
    if name == "_is_full_backward_hook":
        return global_hooks.full
    if name in REGISTRATION_TABLES:
        return registration[REGISTRATION_TABLES[name]]
    return FlagTable(_global_registry(), *FLAGS[name]) if name in FLAGS else getattr(_global_registry(), TABLES[name])


def register_module_forward_pre_hook(hook):
    """A forward pre-hook on every module."""
    return _global_registry().add("forward_pre", hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """A forward hook on every module."""
    return _global_registry().add("forward", as_hook(hook, with_kwargs=with_kwargs, always=always_call))


def register_module_full_backward_pre_hook(hook):
    """A full backward pre-hook on every module."""
    return _global_registry().add("backward_pre", hook)


def register_module_full_backward_hook(hook):
    """A full backward hook on every module."""
    _global_registry().settle_backward(full=True)
    return global_hooks.add("backward", hook)


def register_module_backward_hook(hook):
    """A deprecated backward hook on every module."""
    _global_registry().settle_backward(full=False)
    return global_hooks.add("backward", hook)


def register_module_module_registration_hook(hook):
    """Calls ``hook(module, name, submodule)`` whenever a module is added to another."""
    return add_hook(registration["module"], hook)


def register_module_parameter_registration_hook(hook):
    """Calls ``hook(module, name, parameter)`` whenever a parameter is added to a module."""
    return add_hook(registration["parameter"], hook)


def register_module_buffer_registration_hook(hook):
    """Calls ``hook(module, name, buffer)`` whenever a buffer is added to a module."""
    return add_hook(registration["buffer"], hook)
