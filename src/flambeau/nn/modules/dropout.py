"""Dropout layers."""

from __future__ import annotations

from .. import functional as F
from ._variants import Variants

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Variants):
    __constants__ = ["inplace", "p"]
    p: float
    inplace: bool

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input):
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd, _function="dropout"):
    """Zeros elements with probability `p` in training, and scales the others by 1 / (1 - p)."""


class Dropout1d(_DropoutNd, _function="dropout1d"):
    """Zeros whole channels of sequences in training."""


class Dropout2d(_DropoutNd, _function="dropout2d"):
    """Zeros whole channels of images in training."""


class Dropout3d(_DropoutNd, _function="dropout3d"):
    """Zeros whole channels of volumes in training."""


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance under SELU."""

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """``AlphaDropout`` of whole channels."""

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training)
