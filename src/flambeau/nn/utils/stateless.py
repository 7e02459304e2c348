"""Calling a module with other tensors in the place of its parameters and buffers."""

from __future__ import annotations

import contextlib

from ..._tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """``module(*args, **kwargs)`` with the tensors of a dict (or of several) instead of its own, by path.

    Tensors that the module shares under several paths are replaced under all of them if ``tie_weights``. With
    ``strict`` every parameter and buffer must be given. Afterwards the module is as it was.
    """
    if not isinstance(module, Module):
        raise TypeError(f"functional_call expects an nn.Module, got {type(module).__name__}")
    given = _merged(parameters_and_buffers)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, _with_ties(module, given) if tie_weights else given, strict):
        return module(*args, **(kwargs or {}))


def _merged(dicts):
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, list | tuple) or not all(isinstance(d, dict) for d in dicts):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}")
    merged = {}
    for d in dicts:
        twice = merged.keys() & d.keys()
        if twice:
            raise ValueError(f"{sorted(twice)[0]} appears in multiple dictionaries; behavior of functional call is ambiguous")
        merged.update(d)
    return merged


def _paths(module):
    """{tensor: its paths} over all parameters and buffers."""
    found: dict = {}
    for path, t in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
        found.setdefault(t, []).append(path)
    return found


def _with_ties(module, given):
    """The given tensors, also under the other paths of what they replace."""
    full = dict(given)
    for paths in _paths(module).values():
        values = {id(given[p]): given[p] for p in paths if p in given}
        if len(values) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(p for p in paths if p in given)}, which are tied. Consider using tie_weights=False")
        for value in values.values():
            full.update(dict.fromkeys(paths, value))
    return full


@contextlib.contextmanager
def _replaced(module, tensors, strict):
    places = {path for paths in _paths(module).values() for path in paths}
    if strict:
        missing, unexpected = sorted(places - tensors.keys()), sorted(tensors.keys() - places)
        if missing or unexpected:
            raise RuntimeError(f"Error(s) in functional_call for {type(module).__name__}: missing keys {missing}, unexpected keys {unexpected}")
    before = []
    try:
        for path, value in tensors.items():
            before.append(_put(module, path, value))
        yield
    finally:
        for restore in reversed(before):
            restore()


def _put(module, path, value):
    """Puts a tensor at a path; returns what undoes it."""
    if not isinstance(value, Tensor) and value is not None:
        raise TypeError(f"{value} is not an instance of torch.Tensor (at {path!r})")
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    for table in (owner._parameters, owner._buffers):
        if name in table:
            held = table[name]
            table[name] = value

            def restore(table=table, held=held):
                table[name] = held

            return restore
    raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
