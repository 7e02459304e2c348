"""Padding layers.

``padding`` is one number for all sides, or one per side: before and after, the last dimension first. If negative, it
crops.
"""

from __future__ import annotations

from .. import functional as F
from ._variants import Variants
from .conv import each

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
           "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _ConstantPad(Variants):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__()
        self.padding = each(padding, 2 * self._dims)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad, _dims=1):
    """Pads with a constant around sequences."""


class ConstantPad2d(_ConstantPad, _dims=2):
    """Pads with a constant around images.

    Example::

        >>> ConstantPad2d((1, 0, 0, 1), 7.0)(zeros(1, 1, 1))
        tensor([[[7., 0.],
                 [7., 7.]]])
    """


class ConstantPad3d(_ConstantPad, _dims=3):
    """Pads with a constant around volumes."""


class _ZeroPad:
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads with zeros around sequences."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads with zeros around images."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads with zeros around volumes."""


class _EdgePad(Variants):
    """Padding derived from the input."""

    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = each(padding, 2 * self._dims)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class ReflectionPad1d(_EdgePad, _mode="reflect", _dims=1):
    """Pads sequences by reflection at their ends."""


class ReflectionPad2d(_EdgePad, _mode="reflect", _dims=2):
    """Pads images by reflection at their edges."""


class ReflectionPad3d(_EdgePad, _mode="reflect", _dims=3):
    """Pads volumes by reflection at their faces."""


class ReplicationPad1d(_EdgePad, _mode="replicate", _dims=1):
    """Pads sequences by replicating their ends."""


class ReplicationPad2d(_EdgePad, _mode="replicate", _dims=2):
    """Pads images by replicating their edges."""


class ReplicationPad3d(_EdgePad, _mode="replicate", _dims=3):
    """Pads volumes by replicating their faces."""


class _CircularPad(_EdgePad, _mode="circular"):

    def forward(self, input):
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPad, _dims=1):
    """Pads sequences circularly."""


class CircularPad2d(_CircularPad, _dims=2):
    """Pads images circularly."""


class CircularPad3d(_CircularPad, _dims=3):
    """Pads volumes circularly."""
