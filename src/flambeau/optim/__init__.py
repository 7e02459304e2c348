"""Optimizers."""

from . import optimizer
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Optimizer", "optimizer"]
