"""Batch dimensions reinterpreted as event dimensions."""

from __future__ import annotations

from .._size import Size
from . import constraints
from ._parameters import attribute_of
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["Independent"]

TOO_MANY_DIMENSIONS = (
    "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {asked} vs {there}"
)


class Independent(Distribution):
    """Reinterprets the last batch dimensions of a distribution as event dimensions.

    Args:
        base_distribution: the base distribution.
        reinterpreted_batch_ndims: the number of dimensions.
        validate_args: whether to validate values.

    Example::

        >>> d = Independent(Normal(flambeau.zeros(2, 3), 1.0), 1)
        >>> d.batch_shape, d.event_shape, d.log_prob(flambeau.zeros(2, 3))
        (torch.Size([2]), torch.Size([3]), tensor([-2.7568, -2.7568]))
    """

    arg_constraints: dict = {}

    mean = attribute_of("base_dist", "mean", "The mean.")
    mode = attribute_of("base_dist", "mode", "The mode.")
    variance = attribute_of("base_dist", "variance", "The variance.")
    has_rsample = attribute_of("base_dist", "has_rsample", "Whether samples have gradients.")

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        batch_ndims = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > batch_ndims:
            raise ValueError(TOO_MANY_DIMENSIONS.format(asked=reinterpreted_batch_ndims, there=batch_ndims))
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = batch_ndims - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Independent, _instance)
        new.base_dist = self.base_dist.expand(Size(batch_shape) + self.event_shape[: self.reinterpreted_batch_ndims])
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return self._finish_expanded(new, batch_shape)

    @property
    def has_enumerate_support(self):
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        base = self.base_dist.support
        return constraints.independent(base, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else base

    def sample(self, sample_shape=Size()):  # noqa: B008
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
