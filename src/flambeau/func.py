"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence

from .nn.utils import stateless

__all__ = ["functional_call"]


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """``module(*args, **kwargs)`` with the tensors of a dict, or of several, instead of its own, by path.

    Tensors that the module shares under several paths are replaced under all of them if ``tie_weights``. With
    ``strict`` exactly the module's parameters and buffers must be given. Afterwards the module is as it was.

    Example::

        >>> linear = flambeau.nn.Linear(1, 1, bias=False)
        >>> functional_call(linear, {"weight": flambeau.full((1, 1), 3.0)}, flambeau.ones(1))
        tensor([3.])
    """
    tensors = _merge(parameter_and_buffer_dicts)
    return stateless.functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merge(dicts):
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(f"Expected a dict of parameters and buffers, or a list/tuple of dicts, but got {type(dicts)}")
    merged = {}
    for d in dicts:
        if not isinstance(d, dict):
            raise ValueError(f"Expected a list/tuple of dicts of parameters and buffers, but found a {type(d)} in it")
        twice = sorted(merged.keys() & d.keys())
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        merged.update(d)
    return merged
