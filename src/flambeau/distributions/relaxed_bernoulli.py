"""Relaxed Bernoulli distributions."""

from .._size import Size
from ..functions.random import rand
from . import constraints
from ._parameters import ProbsOrLogits, attribute_of
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The logits of :class:`RelaxedBernoulli`.

    Args:
        temperature: the relaxation temperature; samples approach 0 and 1 as it goes to 0.
        probs: the probability of 1.
        logits: the log-odds of 1, an alternative to `probs`.
        validate_args: whether to validate parameters and values.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._broadcast_parameter(probs, logits)
        super().__init__(self.param_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expand_parameters(LogitRelaxedBernoulli, batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """A differentiable relaxation of the Bernoulli distribution on (0, 1).

    Maddison, Mnih and Teh (2017); Jang, Gu and Poole (2017).

    Args:
        temperature: the relaxation temperature, a tensor; samples approach 0 and 1 as it goes to 0.
        probs: the probability of 1.
        logits: the log-odds of 1, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> RelaxedBernoulli(flambeau.tensor(0.5), flambeau.tensor([0.1, 0.9])).has_rsample
        True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    temperature = attribute_of("base_dist", "temperature", "How far from 0 and 1 draws are.")
    logits = attribute_of("base_dist", "logits", "The log-odds of 1.")
    probs = attribute_of("base_dist", "probs", "The probability of 1.")

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))
