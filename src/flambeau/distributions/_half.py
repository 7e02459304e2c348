"""Absolute values of random variables symmetric around 0."""

from __future__ import annotations

import math

from ..functions.like import zeros_like
from ..functions.pointwise import where
from . import constraints
from ._parameters import attribute_of
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class Half(TransformedDistribution):
    """Base class; `whole` is the class of the symmetric distribution."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    whole: type[Distribution]

    scale = attribute_of("base_dist", "scale", "The scale of the symmetric distribution.")

    def __init__(self, scale, validate_args=None):
        super().__init__(self.whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mode(self):
        return zeros_like(self.scale)

    def log_prob(self, value):
        self._check_value(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
