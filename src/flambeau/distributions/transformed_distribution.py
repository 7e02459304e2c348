"""Distributions of transformed samples."""

from __future__ import annotations

from .._modes import no_grad
from .._size import Size
from . import constraints
from ._parameters import attribute_of
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["TransformedDistribution"]

NOT_TRANSFORMS = "transforms must be a Transform or a list of Transforms, but was {found}"
SHAPE_TOO_SMALL = "base_distribution needs to have shape with size at least {wanted}, but got {found}."


class TransformedDistribution(Distribution):
    """The distribution of samples of a base distribution after transforms.

    Args:
        base_distribution: the base distribution.
        transforms: a transform or a list of them, in order of application.
        validate_args: whether to validate values.

    Example::

        >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(flambeau.tensor(1.0))
        tensor(-0.9189)
    """

    arg_constraints: dict = {}
    has_rsample = attribute_of("base_dist", "has_rsample", "Whether samples have gradients.")

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(NOT_TRANSFORMS.format(found=transforms))
        transform = ComposeTransform(self.transforms)
        shape = self._set_base(base_distribution, transform)
        change = transform.codomain.event_dim - transform.domain.event_dim
        event_dim = max(transform.codomain.event_dim, len(self.base_dist.event_shape) + change)
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _set_base(self, base, transform):
        """Sets the base, expanded as the transform requires; returns the output shape."""
        base_shape = base.batch_shape + base.event_shape
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(SHAPE_TOO_SMALL.format(wanted=transform.domain.event_dim, found=base_shape))
        shape = transform.forward_shape(base_shape)
        expanded = transform.inverse_shape(shape)
        if base_shape != expanded:
            base = base.expand(expanded[: len(expanded) - len(base.event_shape)])
        more = transform.domain.event_dim - len(base.event_shape)
        self.base_dist = Independent(base, more) if more > 0 else base
        return Size(shape)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(TransformedDistribution, _instance)
        shape = ComposeTransform(self.transforms).inverse_shape(Size(batch_shape) + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return self._transform(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=Size()):  # noqa: B008
        return self._transform(self.base_dist.rsample(sample_shape))

    def _transform(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        self._check_value(value)
        event_dim, log_prob = len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            jacobian = transform.log_abs_det_jacobian(x, value)
            log_prob = log_prob - sum_rightmost(jacobian, event_dim - transform.domain.event_dim)
            value = x
        base = self.base_dist.log_prob(value)
        return log_prob + sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._mirror(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._transform(self.base_dist.icdf(self._mirror(value)))

    def _mirror(self, probability):
        """Replaces a probability by its complement where the transforms are decreasing."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5
