"""PyTorch's location of ``GradScaler``; see :mod:`flambeau.amp`."""

from ...amp.grad_scaler import OptState
from . import GradScaler

__all__ = ["GradScaler", "OptState"]
