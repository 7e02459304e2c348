"""Compares two models or checkpoints."""

import math
import os

from .._dtypes import complex128, float64
from .._modes import no_grad
from .._tensor import Tensor
from .._version import __version__
from ..nn.modules.module import Module
from ..serialization import load

__all__ = ["comparison_data", "state_of"]

NO_STATE = "{what} holds no state dict: expected a file of one, of a model, or of a dict with one, got {kind}"
WRAPPERS = ("state_dict", "model", "model_state_dict", "module")  # keys under which training scripts save a state dict


def state_of(source):
    """The state dict of a model, a dict, or a file."""
    value = load(source, map_location="cpu") if isinstance(source, str | os.PathLike) else source
    if isinstance(value, Module):
        return value.state_dict()
    if isinstance(value, dict):
        inner = next((value[key] for key in WRAPPERS if isinstance(value.get(key), dict)), value)
        if tensors := {key: t for key, t in inner.items() if isinstance(t, Tensor)}:
            return tensors
    what = source if isinstance(source, str | os.PathLike) else "the source"
    raise TypeError(NO_STATE.format(what=what, kind=type(value).__name__))


def comparison_data(a, b, names):
    """The data of a page that compares two models or checkpoints, key by key."""
    first, second = state_of(a), state_of(b)
    keys = dict.fromkeys([*first, *second])
    rows = [compare_key(key, first.get(key), second.get(key)) for key in keys]
    total = sum(t.numel() for t in first.values())
    size = sum(t.numel() * t.element_size() for t in first.values())
    root = {
        "path": "", "name": "state dict", "class": "", "settings": "", "training": False, "depth": 0, "parent": None,
        "parameters": [], "count": total, "trainable": total, "bytes": size,
    }
    return {
        "title": f"{names[0]} and {names[1]}", "version": __version__, "modules": [root], "ops": [], "graph": None,
        "comparison": rows, "names": list(names),
        "summary": {"parameters": total, "trainable": total, "bytes": size, "training": False},
    }


@no_grad()
def compare_key(key, a, b):
    """A row: whether both have the key, their shapes, and the distance of the values."""
    row = {"key": key, "a": None if a is None else list(a.shape), "b": None if b is None else list(b.shape)}
    if a is None or b is None:
        return {**row, "state": "only in the second" if a is None else "only in the first"}
    if a.shape != b.shape:
        return {**row, "state": "other shape"}
    a, b = (t.to_dense().to(complex128 if t.is_complex() else float64) for t in (a, b))
    difference, norm = (a - b).norm().item(), a.norm().item()
    if not math.isfinite(difference):
        return {**row, "state": "not finite"}
    state = "equal" if difference == 0 else "differs"
    return {**row, "state": state, "distance": difference, "relative": difference / norm if norm else difference}
