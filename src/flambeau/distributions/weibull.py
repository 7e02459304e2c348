"""The Weibull distribution."""

from ..functions.like import ones_like
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Lifetimes with a failure rate that increases (concentration above 1) or decreases (below) with age.

    Args:
        scale: the scale, often called λ.
        concentration: the shape parameter, often called k.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Weibull(flambeau.tensor([1.0]), flambeau.tensor([2.0])).mean
        tensor([0.8862])
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._transforms(), validate_args=validate_args)

    def _transforms(self):
        return [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.base_dist = self.base_dist.expand(batch_shape)
        new.transforms = new._transforms()
        return self._finish_expanded(new, batch_shape)

    @property
    def concentration_reciprocal(self):
        """The reciprocal of the concentration."""
        return self.concentration.reciprocal()

    @property
    def mean(self):
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self):
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self):
        reciprocal = self.concentration_reciprocal
        second, first = (1 + 2 * reciprocal).lgamma().exp(), (2 * (1 + reciprocal).lgamma()).exp()
        return self.scale.pow(2) * (second - first)

    def entropy(self):
        reciprocal = self.concentration_reciprocal
        return euler_constant * (1 - reciprocal) + (self.scale * reciprocal).log() + 1
