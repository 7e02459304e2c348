"""The logistic-normal distribution."""

from . import constraints
from ._parameters import attribute_of
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Normal random vectors mapped to the simplex by :class:`StickBreakingTransform`.

    Args:
        loc: the means of the normals, along the last dimension.
        scale: their standard deviations.
        validate_args: whether to validate parameters and values.

    Example::

        >>> LogisticNormal(flambeau.zeros(3), flambeau.ones(3)).event_shape
        torch.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    loc = attribute_of("base_dist.base_dist", "loc", "The means of the normals.")
    scale = attribute_of("base_dist.base_dist", "scale", "The standard deviations of the normals.")

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(LogisticNormal, _instance))
