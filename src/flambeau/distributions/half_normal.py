"""The half-normal distribution."""

import math

from ._half import Half
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The absolute value of a normal random variable with mean 0.

    Args:
        scale: the standard deviation of the normal.
        validate_args: whether to validate parameters and values.

    Example::

        >>> HalfNormal(flambeau.tensor([1.0])).mean
        tensor([0.7979])
    """

    whole = Normal

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(HalfNormal, _instance))

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale.pow(2) * (1 - 2 / math.pi)
