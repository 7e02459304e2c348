"""The Cauchy distribution."""

import math

from .._size import Size
from ..functions.like import full_like
from ._parameters import LocationScale
from .distribution import Distribution

__all__ = ["Cauchy"]


class Cauchy(LocationScale, Distribution):
    """The ratio of two normal random variables; its tails are too heavy for a mean.

    Args:
        loc: the median and mode.
        scale: half the distance between the quartiles.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Cauchy(flambeau.tensor([0.0]), flambeau.tensor([1.0])).cdf(flambeau.tensor([1.0]))
        tensor([0.7500])
    """

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Cauchy, batch_shape, _instance)

    @property
    def mean(self):
        """NaN: undefined."""
        return full_like(self.loc, math.nan)

    @property
    def variance(self):
        return full_like(self.loc, math.inf)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value):
        self._check_value(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        self._check_value(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
