"""Code shared by layers: a base class for variants, and parts of reprs."""

from __future__ import annotations

from .module import Module


class Variants(Module):
    """Base of layers whose variants differ in class settings: ``class Conv2d(_Conv, _function="conv2d", _dims=2)``."""

    _function: str  # looked up by name at each call, so that a patched torch.nn.functional.relu takes effect
    _mode: str  # of padding
    _dims: int
    _ranks: tuple[int, ...]  # of inputs

    def __init_subclass__(cls, **keywords):
        for name in Variants.__annotations__.keys() & keywords.keys():
            setattr(cls, name, keywords.pop(name))
        super().__init_subclass__(**keywords)  # with those of another base of the user's class


def unusual(module, **usual):
    """The non-default settings of a module for its repr: ``", name=value"`` for each."""
    values = [(name, getattr(module, name), default) for name, default in usual.items()]
    return "".join([f", {name}={value}" for name, value, default in values
                    if (value is not default if isinstance(default, bool) else value != default)])
