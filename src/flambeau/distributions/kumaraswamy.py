"""The Kumaraswamy distribution."""

import math

from ..functions.like import full_like
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Similar to a beta distribution, with a closed-form quantile function.

    Args:
        concentration1: the first parameter, a.
        concentration0: the second, b: ``1 - (1 - x**a)**b`` is the cumulative distribution function.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Kumaraswamy(flambeau.tensor([1.0]), flambeau.tensor([1.0])).mean
        tensor([0.5000])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        low, high = full_like(self.concentration0, 0), full_like(self.concentration0, 1)
        base = Uniform(low, high, validate_args=validate_args)
        transforms = [PowerTransform(self.concentration0.reciprocal()), AffineTransform(1.0, -1.0),
                      PowerTransform(self.concentration1.reciprocal())]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, new)

    @property
    def mean(self):
        return self._moment(1)

    @property
    def mode(self):
        """The mode; NaN if it is not inside the interval."""
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return mode.masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self):
        return self._moment(2) - self.mean.pow(2)

    def _moment(self, n):
        """The mean of the n-th power."""
        a, b = self.concentration1, self.concentration0
        c = 1 + n / a
        return b * (c.lgamma() + b.lgamma() - (c + b).lgamma()).exp()

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
