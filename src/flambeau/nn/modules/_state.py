"""Saving modules to state dicts, and loading them."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from ..._device import META
from ..._modes import no_grad
from ..._tensor import Tensor
from ..parameter import Parameter, is_lazy
from . import _report
from ._hooks import Hook
from ._loading import explain

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"  # PyTorch's name, which libraries use

NOT_A_TENSOR = (
    'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
    "received {kind}"
)
NOT_COPIED = (
    'While copying the parameter named "{key}", whose dimensions in the model are {own} and whose dimensions in the '
    "checkpoint are {given}, an exception occurred : {error}."
)
MISMATCH = (
    "size mismatch for {key}: copying a param with shape {given} from checkpoint, the shape in current model is {own}."
)
INTO_META = (
    "for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which "
    "does nothing. Pass assign=True to put the tensors of the checkpoint into the model instead."
)
POST_HOOK_RETURNED = (
    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
    "incompatible_keys need to be modified, it should be done inplace."
)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What did not match in load_state_dict."""

    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class Savable:
    """The part of Module that creates and loads state dicts."""

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, Any]:
        """All parameters and persistent buffers by path. They share memory with the module; see ``snapshot``."""
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            given = [destination, prefix, keep_vars]
            given[:len(args)] = args
            destination, prefix, keep_vars = given
        if destination is None:
            _report.warn_of_plain_collections(self)
            destination = _empty()
        return _save(self, destination, getattr(destination, "_metadata", None), prefix, keep_vars)

    def snapshot(self) -> dict[str, Any]:
        """A copy of the ``state_dict``, which later training does not change."""
        saved = self.state_dict()
        for key, value in saved.items():
            if isinstance(value, Tensor) and not is_lazy(value):
                saved[key] = value.clone()
        return saved

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Adds the parameters, persistent buffers and extra state of this module alone."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        buffers = self._buffers
        if buffers:
            transient = self._non_persistent_buffers_set
            for name, buffer in buffers.items():
                if buffer is not None and name not in transient:
                    destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Savable.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies parameters and buffers from a state dict (or, with ``assign=True``, uses its tensors).

        Returns the missing and unexpected keys; with ``strict`` there may be none.
        """
        return _load(self, state_dict, strict, assign)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        """Loads the parameters, persistent buffers and extra state of this module alone."""
        _load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def get_extra_state(self) -> Any:
        """Additional state for the ``state_dict``. To be defined by the subclass, with ``set_extra_state``."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Restores the result of ``get_extra_state``. To be defined by the subclass."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")


# ---- saving


def _empty():
    """An empty state dict, with metadata for module versions."""
    destination = OrderedDict()
    destination._metadata = OrderedDict()
    return destination


def _save(module, destination, metadata, prefix, keep_vars):
    """Adds a module and its descendants to a state dict."""
    local_metadata = {"version": module._version}
    if metadata is not None:
        metadata[prefix[:-1]] = local_metadata
    hooks = module._hook_registry
    if hooks is not None:
        for hook in list(hooks.state_dict_pre.values()):
            hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    children = module._modules
    if children:
        for name, child in children.items():
            if child is None:
                continue
            if type(child).state_dict is Savable.state_dict and "state_dict" not in child.__dict__:
                _save(child, destination, metadata, f"{prefix}{name}.", keep_vars)
            else:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    return destination if hooks is None else _after_saving(module, destination, prefix, local_metadata)


def _after_saving(module, destination, prefix, local_metadata):
    """Runs the ``state_dict`` hooks; returns the resulting state dict."""
    for hook in list(module._hook_registry.state_dict.values()):
        if type(hook) is Hook:
            got = hook.function(module, destination, prefix, local_metadata)
            destination = destination if got is None else got
        elif hook(module, destination, prefix, local_metadata) is not None:
            raise RuntimeError("state_dict post-hook must return None")
    return destination


# ---- loading


def _load(module, state_dict, strict, assign):
    """Loads a module and its descendants; collects errors and raises them all at the end."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    state = OrderedDict(state_dict)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        state._metadata = metadata
    keys, errors = _IncompatibleKeys([], []), []

    def load(module, state, prefix):
        local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], ()))
        if assign:
            local_metadata["assign_to_params_buffers"] = assign
        module._load_from_state_dict(state, prefix, local_metadata, True, *keys, errors)
        if module._modules:
            parts = _by_child(state, len(prefix))
            for name, child in module._modules.items():
                if child is not None:
                    below = prefix + name + "."
                    part = parts.get(name, {})
                    if "." in name:
                        part = {key: value for key, value in state.items() if key.startswith(below)}
                    load(child, part, below)
        for hook in () if module._hook_registry is None else list(module._hook_registry.load.values()):
            if hook(module, keys) is not None:
                raise AssertionError(POST_HOOK_RETURNED)

    load(module, state, "")
    if errors or (strict and any(keys)):
        raise RuntimeError(explain(module, state, *(keys if strict else ([], [])), errors))
    return keys


def _by_child(state, start):
    """The entries for each child, by the child's name, which begins at `start` in the keys."""
    parts = {}
    for key, value in state.items():
        name, dot, _ = key[start:].partition(".")
        if dot:
            if name in parts:
                parts[name][key] = value
            else:
                parts[name] = {key: value}
    return parts


def _load_own(module, state, prefix, local_metadata, strict, missing, unexpected, errors):
    """Loads the parameters, buffers and extra state of one module; records missing keys and mismatches."""
    for hook in () if module._hook_registry is None else list(module._hook_registry.load_pre.values()):
        given = (state, prefix, local_metadata, strict, missing, unexpected, errors)
        hook.function(module, *given) if type(hook) is Hook else hook(*given)
    own = {name: p for name, p in module._parameters.items() if p is not None}
    if module._buffers:
        transient = module._non_persistent_buffers_set
        own.update((name, b) for name, b in module._buffers.items() if b is not None and name not in transient)
    assign = local_metadata.get("assign_to_params_buffers", False)
    with no_grad():
        for name, target in own.items():
            key = prefix + name
            if key in state:
                problem = load_tensor(module, name, target, key, state[key], assign)
                if problem is not None:
                    errors.append(problem)
            elif strict:
                missing.append(key)
    _load_extra(module, state, prefix + _EXTRA_STATE_KEY_SUFFIX, strict, missing, unexpected)
    if strict:
        start = len(prefix)
        for key in state:
            if key.startswith(prefix) and key != prefix + _EXTRA_STATE_KEY_SUFFIX:
                name, dot, _ = key[start:].partition(".")
                if name not in (module._modules if dot else own):
                    unexpected.append(key)


def _load_extra(module, state, key, strict, missing, unexpected):
    if type(module).set_extra_state is not Savable.set_extra_state:
        if key in state:
            module.set_extra_state(state[key])
        elif strict:
            missing.append(key)
    elif strict and key in state:
        unexpected.append(key)


def load_tensor(module, name, target, key, value, assign):
    """Loads one entry; returns an error message, or None."""
    if not isinstance(value, Tensor):
        return NOT_A_TENSOR.format(key=key, kind=type(value))
    if not is_lazy(target):
        shape, own = value.shape, target._a.shape
        if not own and shape == (1,):
            value = value[0]  # saved before PyTorch had zero-dimensional tensors
        elif shape != own:
            return MISMATCH.format(key=key, given=shape, own=target.shape)
        if target.device is META and value.device is not META and not assign:
            warnings.warn(INTO_META.format(key=key), stacklevel=2)
    try:
        if assign:
            setattr(module, name, in_place_of(target, value))
        else:
            target.copy_(value)
    except Exception as error:
        return NOT_COPIED.format(key=key, own=target.size(), given=value.size(), error=error.args)
    return None


def in_place_of(target, value):
    """A state dict's tensor, to be assigned to a module: converted to a parameter where it replaces one."""
    if not isinstance(target, Parameter):
        return value
    if not isinstance(value, Parameter):
        return Parameter(value, target.requires_grad)
    return value.requires_grad_(target.requires_grad)
