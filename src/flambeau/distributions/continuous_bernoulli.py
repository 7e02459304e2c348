"""The continuous Bernoulli distribution."""

import math

from .._size import Size
from ..functions.like import ones_like, zeros_like
from ..functions.pointwise import where
from ..functions.random import rand
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from ._parameters import ProbsOrLogits
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Values in [0, 1] with a density proportional to ``probs**x (1 - probs)**(1 - x)``.

    The normalizer is 0 / 0 for `probs` = 0.5: between the limits it is computed by a Taylor series.

    Args:
        probs: the parameter, from 0 to 1; not the mean.
        logits: the log-odds, an alternative to `probs`.
        lims: the limits around 0.5.
        validate_args: whether to validate parameters and values.

    Example::

        >>> ContinuousBernoulli(flambeau.tensor([0.5])).cdf(flambeau.tensor([0.25]))
        tensor([0.2500])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._broadcast_parameter(probs, logits)
        if probs is not None:
            if validate_args and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self.param_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expand_parameters(ContinuousBernoulli, batch_shape, _instance)
        new._lims = self._lims
        return new

    def _away_from_half(self):
        """Where the closed formulas are stable."""
        low, high = self._lims
        return (self.probs <= low) | (self.probs > high)

    def _safe_probs(self):
        """The probabilities, replaced by the lower limit between the limits."""
        return where(self._away_from_half(), self.probs, self._lims[0] * ones_like(self.probs))

    def _cont_bern_log_norm(self):
        """The logarithm of the normalizer."""
        p = self._safe_probs()
        below = where(p <= 0.5, p, zeros_like(p))
        above = where(p >= 0.5, p, ones_like(p))
        formula = ((-p).log1p() - p.log()).abs().log() - where(
            p <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log()
        )
        x = (self.probs - 0.5).pow(2)
        return where(self._away_from_half(), formula, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        p = self._safe_probs()
        formula = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        return where(self._away_from_half(), formula, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self):
        p = self._safe_probs()
        formula = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        return where(self._away_from_half(), formula, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value):
        self._check_value(value)
        p = self._safe_probs()
        formula = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = where(self._away_from_half(), formula, value)
        return where(value <= 0.0, zeros_like(inside), where(value >= 1.0, ones_like(inside), inside))

    def icdf(self, value):
        p = self._safe_probs()
        formula = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return where(self._away_from_half(), formula, value)

    def entropy(self):
        log_probs0, log_probs1 = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log_probs0 - log_probs1) - self._cont_bern_log_norm() - log_probs0

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """The log-normalizer as a function of the natural parameter, with a Taylor series around 0."""
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        away = (x <= low) | (x > high)
        safe = where(away, x, low * ones_like(x))
        formula = ((safe.exp() - 1.0).abs()).log() - safe.abs().log()
        return where(away, formula, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
