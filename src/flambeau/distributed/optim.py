"""Optimizers for several processes, which are not supported."""

from ..optim.optimizer import Optimizer
from . import ONE_PROCESS

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """Not supported: making one raises."""

    def __init__(self, params, optimizer_class, **defaults):
        raise NotImplementedError(ONE_PROCESS.format(name="optim.ZeroRedundancyOptimizer"))
