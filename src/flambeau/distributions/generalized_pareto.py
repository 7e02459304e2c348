"""The generalized Pareto distribution."""

import math

from .._size import Size
from ..functions.like import ones_like
from ..functions.pointwise import where
from ..functions.random import rand
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The distribution of excesses over a high threshold `loc`.

    It is exponential for concentration 0, has the heavy tail of a Pareto above 0, and an upper end point below.

    Args:
        loc: the threshold.
        scale: the scale of the excess.
        concentration: the shape parameter, often called ξ.
        validate_args: whether to validate parameters and values.

    Example::

        >>> GeneralizedPareto(0.0, flambeau.tensor([1.0]), -0.5).support
        Interval(lower_bound=tensor([0.]), upper_bound=tensor([2.]))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(GeneralizedPareto, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self._nonzero_concentration()
        return constraints.interval(self.loc, where(self.concentration < 0, end, math.inf))

    @property
    def mean(self):
        """The mean; NaN for concentration >= 1."""
        k = self.concentration
        return where(k < 1, self.loc + self.scale / (1 - k), math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        """The variance; NaN for concentration >= 0.5."""
        k = self.concentration
        return where(k < 0.5, self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k)), math.nan)

    def _is_exponential(self):
        """Where the concentration is treated as 0."""
        return self.concentration.isclose(self.concentration.new_zeros(()))

    def _nonzero_concentration(self):
        """The concentration, with 1 where it is treated as 0, to divide by."""
        return where(self._is_exponential(), ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        self._check_value(value)
        z, k = self._standardize(value), self._nonzero_concentration()
        exponent = where(self._is_exponential(), -z, -(1 / k + 1) * (k * z).log1p())
        return exponent - self.scale.log()

    def log_survival_function(self, value):
        """The logarithm of the probability of exceeding `value`."""
        self._check_value(value)
        z, k = self._standardize(value), self._nonzero_concentration()
        return where(self._is_exponential(), -z, -(k * z).log1p() / k)

    def _standardize(self, value):
        return (value - self.loc) / self.scale

    def log_cdf(self, value):
        """The logarithm of ``cdf``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        k, log_survival = self._nonzero_concentration(), (-value).log1p()
        return self.loc + self.scale * where(self._is_exponential(), -log_survival, (-k * log_survival).expm1() / k)

    def entropy(self):
        return self.scale.log() + self.concentration + 1
