"""Categorical distributions over one-hot vectors."""

from .._modes import no_grad
from .._size import Size
from ..functions.creation import eye
from ..nn.functional import one_hot
from . import constraints
from ._parameters import CategoricalParameters
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(CategoricalParameters, Distribution):
    """A category as a one-hot vector.

    Args:
        probs: the weights of the categories along the last dimension, which are normalized.
        logits: the logarithms of the weights, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> OneHotCategorical(flambeau.tensor([1.0, 3.0])).mode
        tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(*self._shapes(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return one_hot(self.probs.argmax(dim=-1), self.probs.shape[-1]).to(self.probs)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return one_hot(self._categorical.sample(sample_shape), self._event_shape[0]).to(self.probs)

    def log_prob(self, value):
        self._check_value(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = eye(n, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples with straight-through gradients (Bengio, Léonard and Courville, 2013)."""

    has_rsample = True

    def rsample(self, sample_shape=Size()):  # noqa: B008
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
