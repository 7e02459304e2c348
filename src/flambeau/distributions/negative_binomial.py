"""The negative binomial distribution."""

from .._modes import no_grad
from .._size import Size
from ..functions.random_samplers import poisson
from ..nn.functional import logsigmoid
from . import constraints
from ._parameters import ProbsOrLogits
from .distribution import Distribution
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """The number of successes before `total_count` failures.

    Args:
        total_count: the number of failures, not necessarily an integer.
        probs: the probability of success, below 1.
        logits: the log-odds of success, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> NegativeBinomial(3, flambeau.tensor([0.5])).mean
        tensor([3.])
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        (count,) = self._broadcast_parameter(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self.param_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(NegativeBinomial, batch_shape, _instance)

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self):
        """The gamma distribution of the Poisson rate that samples are drawn with."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        self._check_value(value)
        n = self.total_count
        log_powers = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        log_ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        return log_powers + log_ways.masked_fill(n + value == 0.0, 0.0)
