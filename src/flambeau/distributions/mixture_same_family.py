"""Mixtures."""

from __future__ import annotations

from .._modes import no_grad
from .._size import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]

NOT_CATEGORICAL = " The Mixture distribution needs to be an instance of torch.distributions.Categorical, got {type}"
NOT_A_DISTRIBUTION = "The Component distribution need to be an instance of torch.distributions.Distribution, got {type}"
OTHER_BATCH = (
    "`mixture_distribution.batch_shape` {mixture} is not compatible with `component_distribution.batch_shape` "
    "{components} without its last dimension"
)
OTHER_NUMBER = (
    "`mixture_distribution component` ({mixture}) does not equal `component_distribution.batch_shape[-1]` "
    "({components})"
)


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family.

    Args:
        mixture_distribution: the Categorical of mixture weights.
        component_distribution: the components, along the last batch dimension.
        validate_args: whether to validate values.

    Example::

        >>> peaks = Normal(flambeau.tensor([-1.0, 1.0]), 0.1)
        >>> MixtureSameFamily(Categorical(flambeau.ones(2)), peaks).variance
        tensor(1.0100)
    """

    arg_constraints: dict = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._check()
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        batch_shape, event_shape = component_distribution.batch_shape[:-1], component_distribution.event_shape
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def _check(self):
        mixture, components = self._mixture_distribution, self._component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(NOT_CATEGORICAL.format(type=type(mixture).__name__))
        if not isinstance(components, Distribution):
            raise ValueError(NOT_A_DISTRIBUTION.format(type=type(components).__name__))
        batch_shape = components.batch_shape[:-1]
        for size, other in zip(reversed(mixture.batch_shape), reversed(batch_shape)):
            if 1 not in (size, other) and size != other:
                message = OTHER_BATCH.format(mixture=tuple(mixture.batch_shape), components=tuple(batch_shape))
                raise ValueError(message)
        found, wanted = components.batch_shape[-1], mixture.logits.shape[-1]
        if found != wanted:
            raise ValueError(OTHER_NUMBER.format(mixture=wanted, components=found))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The Categorical of mixture weights."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    @property
    def mean(self):
        return self._average(self._component_distribution.mean)

    @property
    def variance(self):
        """The law of total variance: the mean of the variances plus the variance of the means."""
        means = self._component_distribution.mean
        of_means = self._average((means - self._pad(self.mean)).pow(2))
        return self._average(self._component_distribution.variance) + of_means

    def _average(self, value):
        """The mean over the components."""
        probs = self._mixture_distribution.probs
        weights = probs.reshape(probs.shape + (1,) * self._event_ndims)
        return (weights * value).sum(dim=-1 - self._event_ndims)

    def _pad(self, value):
        """Adds a dimension for the components to a value."""
        return value.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x):
        x = self._pad(x)
        return (self._component_distribution.cdf(x) * self._mixture_distribution.probs).sum(dim=-1)

    def log_prob(self, x):
        self._check_value(x)
        log_prob = self._component_distribution.log_prob(self._pad(x))
        return (log_prob + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(dim=-1)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand((*chosen.shape, 1, *self.event_shape))
            dim = drawn.dim() - self._event_ndims - 1
            return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
