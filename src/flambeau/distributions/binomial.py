"""The binomial distribution."""

from .._modes import no_grad
from .._size import Size
from ..functions.creation import arange
from ..functions.random_samplers import binomial
from ..nn.functional import logsigmoid
from . import constraints
from ._parameters import ProbsOrLogits
from .distribution import Distribution

__all__ = ["Binomial"]

DIFFERENT_COUNTS = "Inhomogeneous total count not supported by `{method}`: they range from {low} to {high}."


class Binomial(ProbsOrLogits, Distribution):
    """The number of successes among `total_count` trials.

    Args:
        total_count: the number of trials, an integer or a tensor of integers.
        probs: the probability of success.
        logits: the log-odds of success, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Binomial(4, flambeau.tensor([0.5])).log_prob(flambeau.tensor([2.0])).exp()
        tensor([0.3750])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        (count,) = self._broadcast_parameter(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self.param_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Binomial, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check_value(value)
        n, logits = self.total_count, self.logits
        log_ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return log_ways + value * logits + n * logsigmoid(-logits)

    def entropy(self):
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        count = self._common_count("enumerate_support")
        return self._enumerate(arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)

    def _common_count(self, method):
        """The number of trials if it is the same in the whole batch; raises otherwise."""
        low, high = int(self.total_count.min()), int(self.total_count.max())
        if low != high:
            raise NotImplementedError(DIFFERENT_COUNTS.format(method=method, low=low, high=high))
        return high
