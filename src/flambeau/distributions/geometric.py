"""The geometric distribution."""

from .._dtypes import finfo
from .._modes import no_grad
from .._size import Size
from ..functions.like import zeros_like
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from ._parameters import ProbsOrLogits
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Geometric"]

NOT_POSITIVE = (
    "Expected parameter probs ({type} of shape {shape}) of distribution {distribution} to be positive but found "
    "invalid values:\n{values}"
)


class Geometric(ProbsOrLogits, Distribution):
    """The number of failures before the first success.

    Args:
        probs: the probability of success, above 0.
        logits: the log-odds of success, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Geometric(flambeau.tensor([0.25])).mean
        tensor([3.])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._broadcast_parameter(probs, logits)
        super().__init__(self.param_shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._demand(self.probs > 0, NOT_POSITIVE, self.probs, constraints.positive)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Geometric, batch_shape, _instance)

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=Size()):  # noqa: B008
        shape, tiny = self._extended_shape(sample_shape), finfo(self.probs.dtype).tiny
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check_value(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)  # 0 · log(0) is 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
