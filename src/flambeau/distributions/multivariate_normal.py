"""The multivariate normal distribution."""

import math

from .._size import Size
from ..functions.broadcast import broadcast_shapes
from ..functions.creation import eye
from ..functions.linalg.decompose import cholesky
from ..functions.linalg.solve import solve_triangular
from ..functions.linalg.top_level import cholesky_inverse
from . import constraints
from ._parameters import Symmetric
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]

ONE_MATRIX = "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
TWO_DIMENSIONS = "{name} must be at least two-dimensional, with optional leading batch dimensions"


# ---- batches of matrices and vectors, for all the normal distributions


def batch_mv(matrix, vector):
    """Batched matrix-vector products, with broadcasting."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def batch_mahalanobis(tril, diff):
    """``|L⁻¹ d|²`` for Cholesky factors L and vectors d, which may have additional batch dimensions."""
    matrices_ndim = tril.dim() - 2
    samples = diff.shape[: diff.dim() - matrices_ndim - 1]
    columns = diff.reshape((-1, *diff.shape[len(samples) :])).movedim(0, -1)
    solved = solve_triangular(tril, columns, upper=False).pow(2).sum(-2)
    return solved.movedim(-1, 0).reshape(samples + solved.shape[:-1])


def half_log_det(tril):
    """Half the logarithm of the determinant of ``L Lᵀ``."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision):
    """The Cholesky factor of the inverse: the factor of the flipped matrix, flipped and inverted."""
    factor = cholesky(precision.flip((-2, -1)))
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(factor.flip((-2, -1)).mT, identity, upper=False)


def only_matrix(covariance_matrix, precision_matrix, scale_tril):
    """(name, value) of the matrix that was given; raises unless exactly one was."""
    matrices = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
    matrices = {name: value for name, value in matrices.items() if value is not None}
    if len(matrices) != 1:
        raise ValueError(ONE_MATRIX)
    ((name, value),) = matrices.items()
    if value.dim() < 2:
        raise ValueError(TWO_DIMENSIONS.format(name=name))
    return name, value


def tril_of(name, value):
    """The Cholesky factor of the covariance, from the matrix of that name."""
    if name == "scale_tril":
        return value
    return cholesky(value) if name == "covariance_matrix" else precision_to_scale_tril(value)


class MatrixParameters:
    """Mixin: a covariance matrix, its inverse, and its Cholesky factor, one of which is given.

    All are computed from ``_unbroadcasted_scale_tril``.
    """

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance matrix."""
        return self._broadcast_matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance matrix."""
        tril = self._unbroadcasted_scale_tril
        return self._broadcast_matrix(tril @ tril.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance matrix."""
        return self._broadcast_matrix(cholesky_inverse(self._unbroadcasted_scale_tril))

    def _broadcast_matrix(self, matrix):
        n = self._event_shape[-1]
        return matrix.expand((*self._batch_shape, n, n))

    def _copy_matrices(self, new, batch_shape):
        """Expands the matrices that exist into `new`."""
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        n = self._event_shape[-1]
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in vars(self):
                setattr(new, name, vars(self)[name].expand((*batch_shape, n, n)))


class MultivariateNormal(Symmetric, MatrixParameters, Distribution):
    """The multivariate normal distribution.

    Args:
        loc: the mean.
        covariance_matrix: the covariance matrix, positive definite.
        precision_matrix: its inverse, an alternative.
        scale_tril: its Cholesky factor, the cheapest alternative.
        validate_args: whether to validate parameters and values.

    Example::

        >>> MultivariateNormal(flambeau.zeros(2), flambeau.eye(2)).log_prob(flambeau.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = only_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = tril_of(name, matrix)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new.loc = self.loc.expand(Size(batch_shape) + self.event_shape)
        self._copy_matrices(new, batch_shape)
        return self._finish_expanded(new, batch_shape)

    @property
    def variance(self):
        """The variances of the coordinates."""
        variance = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        noise = standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        self._check_value(value)
        distance = batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = constant + half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
