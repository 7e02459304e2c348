"""The multinomial distribution."""

from .._modes import no_grad
from .._size import Size
from ..functions.like import ones_like
from . import constraints
from ._parameters import CategoricalParameters
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(CategoricalParameters, Distribution):
    """The counts of each category in `total_count` draws.

    Args:
        total_count: the number of draws, an integer.
        probs: the weights of the categories along the last dimension, which are normalized.
        logits: the logarithms of the weights, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Multinomial(8, flambeau.tensor([1.0, 3.0])).mean
        tensor([2., 6.])
    """


    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError(f"inhomogeneous total_count is not supported: expected an int, got {total_count}")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(*self._shapes(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(Size(batch_shape) + self.event_shape)
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):  # noqa: B008
        sample_shape = Size(sample_shape)
        with no_grad():
            drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
            counts = drawn.new_zeros(self._extended_shape(sample_shape))
            return counts.scatter_add(-1, drawn, ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        log_ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)  # 0 · -inf is 0
        return log_ways + (logits * value).sum(-1)

    def entropy(self):
        n = self.probs.new_tensor(self.total_count)
        support = self._binomial.enumerate_support(expand=False)[1:]
        mean_log_factorials = (self._binomial.log_prob(support).exp() * (support + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + mean_log_factorials
