"""The inverse gamma distribution."""

import math

from ..functions.pointwise import where
from . import constraints
from ._parameters import attribute_of
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma random variable.

    Args:
        concentration: the shape parameter of the gamma distribution.
        rate: its rate.
        validate_args: whether to validate parameters and values.

    Example::

        >>> InverseGamma(flambeau.tensor([3.0]), flambeau.tensor([4.0])).mean
        tensor([2.])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    concentration = attribute_of("base_dist", "concentration", "The shape parameter of the gamma number.")
    rate = attribute_of("base_dist", "rate", "The rate of the gamma number.")

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(InverseGamma, _instance))

    @property
    def mean(self):
        """The mean; inf for concentration <= 1."""
        return where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        """The variance; inf for concentration <= 2."""
        a = self.concentration
        return where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
