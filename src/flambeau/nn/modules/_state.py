"""Saving modules to state dicts and loading them again."""

from __future__ import annotations

import difflib
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from ... import _dtypes
from ..._device import device as Device
from ..._device import memory_format as MemoryFormat
from ..._modes import no_grad
from ..._tensor import Tensor
from ..parameter import Parameter, is_lazy

EXTRA = "_extra_state"
AT_MOST = 10  # keys of a kind that an error lists


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What did not match in load_state_dict."""

    __slots__ = ()

    def __repr__(self):
        return "<All keys matched successfully>" if not self.missing_keys and not self.unexpected_keys else super().__repr__()

    __str__ = __repr__


# ---- saving


def state_dict(module, args, destination, prefix, keep_vars):
    if args:
        warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=3)
        destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args):])
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    hooks = module._hooks
    for hook in list(hooks.state_dict_pre.values()) if hooks is not None else ():
        hook.function(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
    for hook in list(hooks.state_dict.values()) if hooks is not None else ():
        got = hook.function(module, destination, prefix, metadata)
        if got is not None:
            if not hook.always:
                raise RuntimeError("state_dict post-hook must return None")
            destination = got
    return destination


def save_own(module, destination, prefix, keep_vars):
    """The parameters, persistent buffers and extra state of one module."""
    for name, parameter in module._parameters.items():
        if parameter is not None:
            destination[prefix + name] = parameter if keep_vars else parameter.detach()
    transient = module._non_persistent_buffers_set
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in transient:
            destination[prefix + name] = buffer if keep_vars else buffer.detach()
    if has_extra_state(module, "get_extra_state"):
        destination[prefix + EXTRA] = module.get_extra_state()


def has_extra_state(module, method):
    from .module import Module

    return getattr(type(module), method) is not getattr(Module, method)


def snapshot(module):
    saved = module.state_dict()
    for key, value in saved.items():
        if isinstance(value, Tensor):
            saved[key] = value.clone()
    return saved


# ---- loading


def load_state_dict(module, given, strict, assign):
    if not isinstance(given, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(given)}.")
    state = OrderedDict(given)
    metadata = getattr(given, "_metadata", None)
    if metadata is not None:
        state._metadata = metadata
    missing, unexpected, errors = [], [], []

    def load(child, part, prefix):
        local = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local["assign_to_params_buffers"] = assign
        child._load_from_state_dict(part, prefix, local, True, missing, unexpected, errors)
        for name, grandchild in child._modules.items():
            if grandchild is not None:
                start = prefix + name + "."
                load(grandchild, {k: v for k, v in part.items() if k.startswith(start)}, start)
        keys = _IncompatibleKeys(missing, unexpected)
        for hook in list(child._hooks.load.values()) if child._hooks is not None else ():
            if hook.function(child, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    load(module, state, "")
    if strict:
        if unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {listed(unexpected)}. ")
        if missing:
            errors.insert(0, f"Missing key(s) in state_dict: {listed(missing)}. ")
    if errors:
        reason = diagnosis(module, state, missing, unexpected, errors)
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join([*reason, *errors])
        )
    return _IncompatibleKeys(missing, unexpected)


def load_own(module, state, prefix, local_metadata, strict, missing, unexpected, errors):
    """Loads the parameters, buffers and extra state of one module; notes what is missing or does not fit."""
    for hook in list(module._hooks.load_pre.values()) if module._hooks is not None else ():
        given = (state, prefix, local_metadata, strict, missing, unexpected, errors)
        hook.function(module, *given) if hook.with_kwargs else hook.function(*given)
    persistent = {n: b for n, b in module._buffers.items() if n not in module._non_persistent_buffers_set}
    own = {n: t for n, t in {**module._parameters, **persistent}.items() if t is not None}
    assign = local_metadata.get("assign_to_params_buffers", False)
    for name, target in own.items():
        key = prefix + name
        if key in state:
            problem = load_tensor(module, name, target, key, state[key], assign)
            if problem:
                errors.append(problem)
        elif strict:
            missing.append(key)
    extra = prefix + EXTRA
    if has_extra_state(module, "set_extra_state"):
        if extra in state:
            module.set_extra_state(state[extra])
        elif strict:
            missing.append(extra)
    elif strict and extra in state:
        unexpected.append(extra)
    if strict:
        for key in state:
            if key.startswith(prefix) and key != extra:
                first, *rest = key[len(prefix):].split(".", 1)
                if first not in module._modules if rest else first not in own:
                    unexpected.append(key)


def load_tensor(module, name, target, key, value, assign):
    """Copies one entry into its place; the sentence that says why not, or None."""
    if not isinstance(value, Tensor):
        return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value)}")
    if is_lazy(target) or is_lazy(value):
        if is_lazy(target) and not is_lazy(value):
            with no_grad():
                target.materialize(value.shape)
        else:
            return None
    if target.dim() == 0 and value.dim() == 1 and value.numel() == 1:
        value = value[0]
    if value.shape != target.shape:
        return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                f"current model is {target.shape}.")
    try:
        with no_grad():
            if assign:
                place(module, name, target, value)
            else:
                target.copy_(value)
    except Exception as error:
        return (f'While copying the parameter named "{key}", whose dimensions in the model are {target.size()} and '
                f"whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}.")
    return None


def place(module, name, target, value):
    """Puts the tensor of a state dict itself into the module."""
    if isinstance(target, Parameter):
        if not isinstance(value, Parameter):
            value = Parameter(value, requires_grad=target.requires_grad)
        else:
            value.requires_grad_(target.requires_grad)
    setattr(module, name, value)


# ---- what went wrong, first


def listed(keys):
    shown = ", ".join(f'"{k}"' for k in keys[:AT_MOST])
    return shown if len(keys) <= AT_MOST else f"{shown} and {len(keys) - AT_MOST} more"


def diagnosis(module, state, missing, unexpected, errors):
    """The likely cause of a failed load, in a sentence, where one can be seen."""
    found = []
    prefix = common_prefix(missing, unexpected)
    if prefix:
        found.append(prefix)
    elif missing and unexpected:
        found.extend(renames(module, state, missing, unexpected))
    found.extend(transposed(module, state))
    del errors[AT_MOST + 2:]
    return found


def common_prefix(missing, unexpected):
    """Keys that match but for a prefix, on either side."""
    for less, more, where in ((missing, unexpected, "state_dict"), (unexpected, missing, "model")):
        if not less or len(less) != len(more):
            continue
        head = more[0][: -len(less[0])] if more[0].endswith(less[0]) else ""
        if head and {head + k for k in less} == set(more):
            if where == "state_dict":
                return (f"All keys of the state_dict begin with '{head}'. Strip it: "
                        f"{{k.removeprefix('{head}'): v for k, v in state_dict.items()}}.")
            return (f"All keys of the model begin with '{head}', those of the state_dict do not. Add it: "
                    f"{{'{head}' + k: v for k, v in state_dict.items()}}.")
    return None


def renames(module, state, missing, unexpected):
    """Missing keys for which an unexpected one of the same shape and a similar name is there."""
    own = module.state_dict()
    pairs, free = [], list(unexpected)
    for key in missing:
        target = own.get(key)
        if not isinstance(target, Tensor):
            continue
        fitting = [k for k in free if isinstance(state.get(k), Tensor) and state[k].shape == target.shape]
        best = difflib.get_close_matches(key, fitting, 1, 0.5)
        if best:
            free.remove(best[0])
            pairs.append(f"'{best[0]}' -> '{key}'")
    if not pairs:
        return []
    more = f" and {len(pairs) - AT_MOST} more" if len(pairs) > AT_MOST else ""
    return ["Renamed since, as the shapes are equal? " + ", ".join(pairs[:AT_MOST]) + more + "."]


def transposed(module, state):
    own = module.state_dict()
    keys = [k for k, v in state.items() if isinstance(v, Tensor) and isinstance(own.get(k), Tensor) and v.dim() > 1
            and v.shape != own[k].shape and tuple(v.shape) == tuple(own[k].shape)[::-1]]
    if not keys:
        return []
    return [f"Transposed: {listed(keys)} would fit as .T (other libraries keep weights as in x out)."]


# ---- arguments of Module.to


def parse_to(args, kwargs):
    """(device, dtype, non_blocking, memory_format) from any form of ``to``'s arguments."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    non_blocking, memory_format = kwargs.pop("non_blocking", False), kwargs.pop("memory_format", None)
    kwargs.pop("copy", None)
    other = kwargs.pop("tensor", None) or kwargs.pop("other", None)
    if kwargs:
        raise TypeError(f"to() received an invalid keyword argument: {next(iter(kwargs))!r}")
    for value in (*args, other):
        if value is None:
            continue
        if isinstance(value, _dtypes.dtype):
            dtype = value
        elif isinstance(value, Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, bool):
            non_blocking = value
        elif isinstance(value, str | int | Device):
            device = Device(value)
        elif isinstance(value, MemoryFormat):
            memory_format = value
        else:
            raise TypeError(f"to() received an invalid argument: {type(value).__name__}; expected a device, a dtype or a tensor")
    if memory_format is not None and not isinstance(memory_format, MemoryFormat):
        raise TypeError(f"to(): argument 'memory_format' must be torch.memory_format, not {type(memory_format).__name__}")
    return (None if device is None else Device(device)), dtype, non_blocking, memory_format


def empty_like(t, device):
    from ...functions.creation import empty_like as empty

    return empty(t, device=device)
