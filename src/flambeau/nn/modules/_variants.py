"""What layers share: the base of those that differ in a function or in the number of dimensions; parts of reprs."""

from __future__ import annotations

from .module import Module


class Variants(Module):
    """Base of layers whose variants name what they differ in: ``class Conv2d(_Conv, function="conv2d", dims=2)``."""

    _function: str  # looked up by name at each call, so that a patched torch.nn.functional.relu takes effect
    _mode: str  # of padding
    _dims: int
    _ranks: tuple[int, ...]  # of inputs

    def __init_subclass__(cls, *, function=None, mode=None, dims=None, ranks=None, **others):
        super().__init_subclass__(**others)
        for name, value in {"_function": function, "_mode": mode, "_dims": dims, "_ranks": ranks}.items():
            if value is not None:
                setattr(cls, name, value)


def unusual(module, **usual):
    """The settings of a module that are not as usual, for its repr: ``", name=value"`` for each."""
    values = {name: getattr(module, name) for name in usual}
    return "".join([f", {name}={value}" for name, value in values.items()
                    if type(value) is not type(usual[name]) or value != usual[name]])
