"""Relaxed categorical distributions."""

from .._size import Size
from ..functions.like import full_like
from ..functions.random import rand
from . import constraints
from ._parameters import CategoricalParameters, attribute_of
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(CategoricalParameters, Distribution):
    """The logarithms of :class:`RelaxedOneHotCategorical`.

    Args:
        temperature: the relaxation temperature; samples approach one-hot vectors as it goes to 0.
        probs: the weights of the categories along the last dimension.
        logits: the logarithms of the weights, an alternative to `probs`.
        validate_args: whether to validate parameters and values.
    """

    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(*self._shapes(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbels = -(-u.log()).log()
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        self._check_value(value)
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = full_like(self.temperature, float(n)).lgamma() + (n - 1) * self.temperature.log()
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A differentiable relaxation of one-hot vectors on the simplex: the softmax of logits with Gumbel noise.

    Maddison, Mnih and Teh (2017); Jang, Gu and Poole (2017).

    Args:
        temperature: the relaxation temperature, a tensor; samples approach one-hot vectors as it goes to 0.
        probs: the weights of the categories along the last dimension.
        logits: the logarithms of the weights, an alternative to `probs`.
        validate_args: whether to validate parameters and values.

    Example::

        >>> RelaxedOneHotCategorical(flambeau.tensor(0.5), flambeau.tensor([0.1, 0.9])).event_shape
        torch.Size([2])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    temperature = attribute_of("base_dist", "temperature", "How far from one-hot vectors draws are.")
    logits = attribute_of("base_dist", "logits", "The logarithms of the probabilities.")
    probs = attribute_of("base_dist", "probs", "The probabilities of the categories.")

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(RelaxedOneHotCategorical, _instance))
