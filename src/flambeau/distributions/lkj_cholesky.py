"""The LKJ distribution of correlation matrices."""

import math

from .._dtypes import finfo
from .._modes import no_grad
from .._size import Size
from ..functions.creation import arange
from ..functions.random import randn
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]

TOO_SMALL = "Expected dim to be an integer greater than or equal to 2. Found dim={dim}."


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices (Lewandowski, Kurowicka and Joe, 2009).

    The density of a correlation matrix is proportional to its determinant to the power ``concentration - 1``.

    Args:
        dim: the number of rows.
        concentration: 1 for a uniform distribution; larger values give smaller correlations.
        validate_args: whether to validate parameters and values.

    Example::

        >>> LKJCholesky(3, 0.5).event_shape
        torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(TOO_SMALL.format(dim=dim))
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch_shape, event_shape = self.concentration.size(), Size((dim, dim))
        # The squared length of each row without the diagonal element has a beta distribution.
        before = arange(dim, dtype=self.concentration.dtype, device=self.concentration.device) - 1
        before = before.clamp(min=0)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(before + 0.5, marginal.unsqueeze(-1) - 0.5 * before)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expand_parameters(LKJCholesky, batch_shape, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape=Size()):  # noqa: B008
        """Samples by the onion method: row by row, a length and a direction."""
        with no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            rows = randn(shape, dtype=squared.dtype, device=squared.device).tril(-1)
            directions = rows / rows.norm(dim=-1, keepdim=True)
            directions[..., 0, :].fill_(0.0)  # the first row has no direction: 0 / 0
            rows = squared.sqrt() * directions
            diagonal = (1 - (rows**2).sum(-1)).clamp(min=finfo(rows.dtype).tiny).sqrt()
            return rows + diagonal.diag_embed()

    def log_prob(self, value):
        self._check_value(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        row = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - row
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        log_norm = 0.5 * n * math.log(math.pi) + (alpha - 0.5).mvlgamma(n) - alpha.lgamma() * n
        return (order * diagonal.log()).sum(-1) - log_norm
