"""Registering hooks: on one module, and on all of them."""

from __future__ import annotations

from types import MappingProxyType

from ..._hooks import add_hook
from . import _report
from ._hooks import Hook, Hooks, as_hook, everywhere, registration

__all__ = ["register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]


def own_hooks(module):
    """The registry of a module, made now if it has none."""
    if "_hook_registry" not in module.__dict__:
        if "_modules" not in module.__dict__:
            raise AttributeError(_report.no_attribute(module, "_hook_registry"))
        module.__dict__["_hook_registry"] = Hooks()
    return module.__dict__["_hook_registry"]


def _hook_table(kind):
    """PyTorch's name for the hooks of one kind: a dict by handle id, that may be changed."""

    def table(self):
        return getattr(own_hooks(self), kind)

    def replace(self, hooks):
        held, hooks = table(self), dict(hooks)
        held.clear()
        held.update(hooks)

    return property(table, replace, doc=f"The {kind} hooks, by handle id.")


def _flag_table(kind, flag):
    """PyTorch's name for which hooks of one kind have a flag; to read only, as the flag is in the hook's record."""

    def table(self):
        hooks = getattr(own_hooks(self), kind).items()
        return MappingProxyType({key: True for key, hook in hooks if isinstance(hook, Hook) and getattr(hook, flag)})

    return property(table, doc=f"The {kind} hooks with the flag {flag}, by handle id.")


class Hookable:
    """The part of Module that takes hooks."""

    _hook_registry: Hooks | None = None  # of the class: not None once there are hooks on all modules

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls ``hook(module, args)`` before ``forward``; what it returns replaces the arguments."""
        return own_hooks(self).add("forward_pre", as_hook(hook, with_kwargs=with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls ``hook(module, args, output)`` after ``forward``; what it returns replaces the output."""
        return own_hooks(self).add("forward", as_hook(hook, with_kwargs=with_kwargs, always=always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_output)`` when the gradients of the outputs are there."""
        return own_hooks(self).add("backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are there."""
        return own_hooks(self).add_backward(hook, full=True, prepend=prepend)

    def register_backward_hook(self, hook):
        """The old backward hook, which sees the last operation only. Use ``register_full_backward_hook``."""
        return own_hooks(self).add_backward(hook, full=False)

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

    @property
    def _is_full_backward_hook(self):
        return None if self._hook_registry is None else self._hook_registry.full

    _forward_pre_hooks = _hook_table("forward_pre")
    _forward_pre_hooks_with_kwargs = _flag_table("forward_pre", "with_kwargs")
    _forward_hooks = _hook_table("forward")
    _forward_hooks_with_kwargs = _flag_table("forward", "with_kwargs")
    _forward_hooks_always_called = _flag_table("forward", "always")
    _backward_pre_hooks = _hook_table("backward_pre")
    _backward_hooks = _hook_table("backward")
    _state_dict_pre_hooks = _hook_table("state_dict_pre")
    _state_dict_hooks = _hook_table("state_dict")
    _load_state_dict_pre_hooks = _hook_table("load_pre")
    _load_state_dict_post_hooks = _hook_table("load")


# ---- hooks on all modules


def _everywhere():
    """The registry of the hooks on all modules; from now on, no call of a module may pass it by."""
    if Hookable._hook_registry is None:
        Hookable._hook_registry = Hooks()
    return everywhere


def register_module_forward_pre_hook(hook):
    """A forward pre-hook on every module."""
    return _everywhere().add("forward_pre", hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """A forward hook on every module."""
    return _everywhere().add("forward", as_hook(hook, with_kwargs=with_kwargs, always=always_call))


def register_module_full_backward_pre_hook(hook):
    """A full backward pre-hook on every module."""
    return _everywhere().add("backward_pre", hook)


def register_module_full_backward_hook(hook):
    """A full backward hook on every module."""
    return _everywhere().add_backward(hook, full=True)


def register_module_backward_hook(hook):
    """An old backward hook on every module."""
    return _everywhere().add_backward(hook, full=False)


def register_module_module_registration_hook(hook):
    """Calls ``hook(module, name, submodule)`` whenever a module is added to another."""
    return add_hook(registration["module"], hook)


def register_module_parameter_registration_hook(hook):
    """Calls ``hook(module, name, parameter)`` whenever a parameter is added to a module."""
    return add_hook(registration["parameter"], hook)


def register_module_buffer_registration_hook(hook):
    """Calls ``hook(module, name, buffer)`` whenever a buffer is added to a module."""
    return add_hook(registration["buffer"], hook)
