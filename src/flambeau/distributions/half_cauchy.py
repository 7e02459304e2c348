"""The half-Cauchy distribution."""

import math

from .._tensor import Tensor
from ..functions.from_data import as_tensor
from ..functions.like import full_like
from ._half import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute value of a Cauchy random variable centred at 0.

    Args:
        scale: the median.
        validate_args: whether to validate parameters and values.

    Example::

        >>> HalfCauchy(flambeau.tensor([2.0])).cdf(flambeau.tensor([2.0]))
        tensor([0.5000])
    """

    whole = Cauchy

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self):
        return full_like(self.scale, math.inf)

    @property
    def variance(self):
        return self.base_dist.variance

    def log_prob(self, value):
        if isinstance(value, Tensor) or not self._validate_args:
            value = as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return super().log_prob(value)
