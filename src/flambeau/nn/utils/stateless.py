"""Calling a module with other tensors in place of its parameters and buffers."""

from __future__ import annotations

import contextlib

from ..._tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]

_ABSENT = object()

DIFFERENT_TIES = "functional_call got multiple values for keys {keys}, which are tied. Consider using tie_weights=False"
STRICT = "Error(s) in reparametrizing for {name}:{wrong}"


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls ``module(*args, **kwargs)`` with its tensors replaced by those of a dict, by path.

    With ``tie_weights``, tensors that the module shares under several paths are replaced under all of them. With
    ``strict``, exactly the module's parameters and buffers must be given. The module is restored afterwards; a tensor
    that it assigned in the meantime is stored in the dict.
    """
    if not isinstance(module, Module):
        raise TypeError(f"functional_call expects an nn.Module, got {type(module).__name__}")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replace(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _paths(module):
    """{tensor: its paths} over all parameters and buffers."""
    found: dict = {}
    for named in (module.named_parameters, module.named_buffers):
        for path, t in named(remove_duplicate=False):
            found.setdefault(t, []).append(path)
    return found


def _with_ties(paths, given):
    """The given tensors, also under the other paths of the tensors they replace."""
    full = dict(given)
    for tied in paths.values():
        values = {id(given[p]): given[p] for p in tied if p in given}
        if len(values) > 1:
            raise ValueError(DIFFERENT_TIES.format(keys=sorted(p for p in tied if p in given)))
        for value in values.values():
            full.update(dict.fromkeys(tied, value))
    return full


@contextlib.contextmanager
def _replace(module, given, tie_weights, strict):
    paths = _paths(module)
    tensors = _with_ties(paths, given) if tie_weights else given
    if strict:
        _check_complete(module, {path for tied in paths.values() for path in tied}, tensors)
    before = {}
    try:
        for path, value in tensors.items():
            before[path] = _swap(module, path, value)
        yield
    finally:
        for path in reversed(before):
            left = _swap(module, path, before[path])
            if path in given:
                given[path] = left


def _check_complete(module, places, tensors):
    wrong = {"Unexpected": sorted(tensors.keys() - places), "Missing": sorted(places - tensors.keys())}
    if any(wrong.values()):
        lines = [f"\n\t{kind} key(s): {str(keys)[1:-1]}." for kind, keys in wrong.items() if keys]
        raise RuntimeError(STRICT.format(name=module._get_name(), wrong="".join(lines)))


def _swap(module, path, value):
    """Sets the tensor at a path; returns the previous one. _ABSENT removes it."""
    prefix, _, name = path.rpartition(".")
    if not name:
        raise KeyError(f"tensor name can't be empty string: {path!r}")
    owner = module.get_submodule(prefix)
    for table in (owner._parameters, owner._buffers):
        if name in table:
            _check_tensor(path, value)
            held, table[name] = table[name], value
            return held
    held = getattr(owner, name, _ABSENT)
    for tensor in (held, value):
        if tensor is not _ABSENT:
            _check_tensor(path, tensor)
    if value is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
    return held


def _check_tensor(path, value):
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor (at {path!r})")
