"""The Cauchy distribution."""

from __future__ import annotations

import math

from .._size import Size
from ..functions.like import full_like
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The distribution of a ratio of normal numbers; its tails are so wide that it has no mean.

    Args:
        loc: the median and mode.
        scale: half the distance between the quartiles.
        validate_args: whether parameters and values are checked.

    Example::

        >>> Cauchy(flambeau.tensor([0.0]), flambeau.tensor([1.0])).cdf(flambeau.tensor([1.0]))
        tensor([0.7500])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Cauchy, batch_shape, _instance)

    @property
    def mean(self):
        """nan: there is none."""
        return full_like(self.loc, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return full_like(self.loc, math.inf)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
