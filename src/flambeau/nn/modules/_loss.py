"""Base classes of losses: the reduction and the weight."""

from __future__ import annotations

from ..functional._reduction import legacy_reduction
from .module import Module


class _Loss(Module):
    __constants__ = ["reduction"]
    reduction: str

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_reduction(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
