"""PyTorch's location of ``autocast``; see :mod:`flambeau.amp`."""

from . import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
