"""Quantization, which is not supported: using its names raises."""

from .._lazy import lazy_submodules as _lazy_submodules

__getattr__, __dir__ = _lazy_submodules(__name__, ["quantization"])
