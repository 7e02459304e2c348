"""The categorical distribution."""

from .._dtypes import finfo, int64
from .._modes import no_grad
from .._size import Size
from ..functions.broadcast import broadcast_tensors
from ..functions.creation import arange, full
from ..functions.random import multinomial
from . import constraints
from ._parameters import CategoryProbsOrLogits
from .distribution import Distribution

__all__ = ["Categorical"]


class Categorical(CategoryProbsOrLogits, Distribution):
    """A category index, starting at 0.

    Args:
        probs: the weights of the categories along the last dimension, which are normalized.
        logits: the logarithms of the weights, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> c = Categorical(flambeau.tensor([1.0, 3.0]))
        >>> c.probs, c.log_prob(flambeau.tensor(1)).exp()
        (tensor([0.2500, 0.7500]), tensor(0.7500))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._normalize_parameter(probs, logits)
        super().__init__(self.param_shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Categorical, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        """NaN: categories are not ordered."""
        return self._nans()

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    @property
    def variance(self):
        """NaN: categories are not ordered."""
        return self._nans()

    def _nans(self):
        return full(self._batch_shape, float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape=Size()):  # noqa: B008
        sample_shape = Size(sample_shape)
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = multinomial(rows, sample_shape.numel(), True).T
            return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        self._check_value(value)
        value, log_pmf = broadcast_tensors(value.to(int64).unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 · -inf is NaN
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerate(arange(self._num_events, dtype=int64, device=self._param.device), expand)
