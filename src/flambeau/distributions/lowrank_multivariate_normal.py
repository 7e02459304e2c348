"""Multivariate normal distributions with low-rank plus diagonal covariance."""

import math

from .._size import Size
from ..functions.broadcast import broadcast_shapes
from ..functions.linalg.decompose import cholesky
from ..functions.linalg.solve import solve_triangular
from . import constraints
from ._parameters import Symmetric
from .distribution import Distribution
from .multivariate_normal import batch_mahalanobis, batch_mv, half_log_det
from .utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]

WRONG_FACTOR = "cov_factor must be a batch of matrices with shape {n} x m, but its shape is {found}"
WRONG_DIAGONAL = "cov_diag must be a batch of vectors with shape ({n},), but its shape is {found}"


def capacitance_tril(factor, diagonal):
    """The Cholesky factor of the capacitance matrix ``I + Wᵀ D⁻¹ W``."""
    small = factor.mT @ (factor / diagonal.unsqueeze(-1))
    small.diagonal(dim1=-2, dim2=-1).add_(1)
    return cholesky(small)


def lowrank_log_det(diagonal, tril):
    """The logarithm of the determinant of ``W Wᵀ + D``, by the matrix determinant lemma."""
    return 2 * half_log_det(tril) + diagonal.log().sum(-1)


def lowrank_mahalanobis(factor, diagonal, diff, tril):
    """``dᵀ (W Wᵀ + D)⁻¹ d``, by the Woodbury identity."""
    scaled = diff / diagonal
    return diff.pow(2).div(diagonal).sum(-1) - batch_mahalanobis(tril, batch_mv(factor.mT, scaled))


class LowRankMultivariateNormal(Symmetric, Distribution):
    """A multivariate normal with covariance ``cov_factor cov_factorᵀ + diag(cov_diag)``.

    Args:
        loc: the mean, of size n.
        cov_factor: a matrix of n rows and few columns.
        cov_diag: the diagonal, positive.
        validate_args: whether to validate parameters and values.

    Example::

        >>> d = LowRankMultivariateNormal(flambeau.zeros(2), flambeau.tensor([[1.0], [0.0]]), flambeau.ones(2))
        >>> d.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        n = loc.shape[-1]
        if cov_factor.shape[-2] != n:
            raise ValueError(WRONG_FACTOR.format(n=n, found=tuple(cov_factor.shape)))
        if cov_diag.shape[-1] != n:
            raise ValueError(WRONG_DIAGONAL.format(n=n, found=tuple(cov_diag.shape)))
        batch_shape = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*batch_shape, n))
        self.cov_factor = cov_factor.expand(Size(batch_shape) + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand((*batch_shape, n))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        super().__init__(batch_shape, Size((n,)), validate_args=validate_args)
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)

    def expand(self, batch_shape, _instance=None):
        new = self._expand_parameters(LowRankMultivariateNormal, batch_shape, _instance)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return new

    @lazy_property
    def variance(self):
        """The variances of the coordinates."""
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance matrix."""
        diagonal = self._unbroadcasted_cov_diag.sqrt()
        scaled = self._unbroadcasted_cov_factor / diagonal.unsqueeze(-1)
        inner = scaled @ scaled.mT
        inner.diagonal(dim1=-2, dim2=-1).add_(1)
        return self._broadcast_matrix(diagonal.unsqueeze(-1) * cholesky(inner))

    @lazy_property
    def covariance_matrix(self):
        """The covariance matrix."""
        factor = self._unbroadcasted_cov_factor
        return self._broadcast_matrix(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance matrix, by the Woodbury identity."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        solved = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._broadcast_matrix(diagonal.reciprocal().diag_embed() - solved.mT @ solved)

    def _broadcast_matrix(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        small_shape = shape[:-1] + self.cov_factor.shape[-1:]
        of_factor = standard_normal(small_shape, self.loc.dtype, self.loc.device)
        of_diagonal = standard_normal(shape, self.loc.dtype, self.loc.device)
        return (self.loc + batch_mv(self._unbroadcasted_cov_factor, of_factor)
                + self._unbroadcasted_cov_diag.sqrt() * of_diagonal)

    def log_prob(self, value):
        self._check_value(value)
        distance = lowrank_mahalanobis(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag,
                                       value - self.loc, self._capacitance_tril)
        log_det = lowrank_log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = lowrank_log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
