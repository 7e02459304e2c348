"""The Laplace distribution."""

from .._dtypes import finfo
from .._size import Size
from ._parameters import LocationScale
from .distribution import Distribution

__all__ = ["Laplace"]


class Laplace(LocationScale, Distribution):
    """The double exponential distribution around `loc`.

    Args:
        loc: the mean.
        scale: the mean absolute deviation.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Laplace(flambeau.tensor([0.0]), flambeau.tensor([1.0])).log_prob(flambeau.tensor([0.0])).exp()
        tensor([0.5000])
    """

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Laplace, batch_shape, _instance)

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return 2**0.5 * self.scale

    def rsample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value):
        self._check_value(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        self._check_value(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()
