"""Learning rate schedulers."""

from ..._utils import name_constructors as _name_constructors
from ._base import EPOCH_DEPRECATION_WARNING, LRScheduler
from ._combined import ChainedScheduler, SequentialLR
from ._cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from ._decays import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from ._plateau import ReduceLROnPlateau

__all__ = [
    "EPOCH_DEPRECATION_WARNING", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
    "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]

_LRScheduler = LRScheduler  # the former name, still subclassed by older scripts

_name_constructors(globals())
