"""The Bernoulli distribution."""

from .._modes import no_grad
from .._size import Size
from ..functions.creation import arange
from ..functions.random import bernoulli
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from ._parameters import ProbsOrLogits
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability `probs`, otherwise 0.

    Args:
        probs: the probability of 1, a number or a tensor.
        logits: the log-odds of 1, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Bernoulli(flambeau.tensor([0.25])).log_prob(flambeau.tensor([0.0])).exp()
        tensor([0.7500])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._broadcast_parameter(probs, logits)
        super().__init__(self.param_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Bernoulli, batch_shape, _instance)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        """0 or 1; NaN for probability 0.5."""
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._enumerate(arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self):
        return (self.probs.logit(),)

    def _log_normalizer(self, x):
        return x.exp().log1p()
