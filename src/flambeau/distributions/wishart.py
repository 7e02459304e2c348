"""The Wishart distribution."""

import math
import warnings
from numbers import Number

from .._dtypes import finfo
from .._size import Size
from ..functions.broadcast import broadcast_shapes
from ..functions.creation import arange, tril_indices
from ..functions.from_data import tensor
from ..functions.linalg.solve import slogdet
from ..functions.random import randn
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import MatrixParameters, half_log_det, only_matrix, tril_of

__all__ = ["Wishart"]

LOW_DF = "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim."
SINGULAR = "Singular sample detected."
DF_TOO_SMALL = "Value of df={df} expected to be greater than ndim - 1 = {least}."
MOST_TRIES = 10


class Wishart(MatrixParameters, ExponentialFamily):
    """Sums of outer products of `df` normal vectors with themselves: positive-definite matrices.

    Args:
        df: the degrees of freedom, more than the number of rows minus 1.
        covariance_matrix: the covariance matrix of the vectors.
        precision_matrix: its inverse, an alternative.
        scale_tril: its Cholesky factor, an alternative.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Wishart(flambeau.tensor([2.0]), flambeau.eye(2)).mean
        tensor([[[2., 0.],
                 [0., 2.]]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        name, matrix = only_matrix(covariance_matrix, precision_matrix, scale_tril)
        df = tensor(df, dtype=matrix.dtype, device=matrix.device) if isinstance(df, Number) else df
        batch_shape, event_shape = broadcast_shapes(matrix.shape[:-2], df.shape), matrix.shape[-2:]
        n = event_shape[-1]
        if (df <= n - 1).any():
            raise ValueError(DF_TOO_SMALL.format(df=df, least=n - 1))
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self._batch_shape, self._event_shape = Size(batch_shape), event_shape  # needed by arg_constraints
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if self.df.lt(n).any():
            warnings.warn(LOW_DF, stacklevel=2)
        self._unbroadcasted_scale_tril = tril_of(name, matrix)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - arange(n, dtype=df.dtype, device=df.device))

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        new.df = self.df.expand(batch_shape)
        self._copy_matrices(new, batch_shape)
        new._dist_chi2 = self._dist_chi2.expand(batch_shape + self._event_shape[:1])
        return self._finish_expanded(new, batch_shape)

    @property
    def mean(self):
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self):
        """The mode; NaN for df <= n + 1."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self):
        """The variances of the elements."""
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * (self.covariance_matrix.pow(2) + outer)

    def rsample(self, sample_shape=Size(), max_try_correction=None):  # noqa: B008
        """Samples; singular ones are redrawn at most `max_try_correction` times."""
        sample_shape = Size(sample_shape)
        self._bartlett(sample_shape)  # PyTorch always redraws once: this keeps its random numbers
        sample = self._bartlett(sample_shape)
        for _ in range(MOST_TRIES if max_try_correction is None else max_try_correction):
            singular = self._is_singular(sample)
            if not singular.any():
                break
            warnings.warn(SINGULAR, stacklevel=2)
            sample[singular] = self._bartlett(Size((int(singular.sum()),)))
        return sample

    def _is_singular(self, sample):
        """For each sample of the whole batch, whether any of its matrices is singular."""
        regular = self.support.check(sample)
        return ~regular.flatten(regular.dim() - len(self._batch_shape)).all(-1) if self._batch_shape else ~regular

    def _bartlett(self, sample_shape):
        """Samples by the Bartlett decomposition: a triangular matrix of normals with a chi-distributed diagonal."""
        n = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).clamp(min=finfo(self.df.dtype).tiny).sqrt().diag_embed()
        i, j = tril_indices(n, n, offset=-1, device=noise.device)
        noise[..., i, j] = randn(sample_shape + self._batch_shape + (n * (n - 1) // 2,), dtype=noise.dtype,
                                 device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def log_prob(self, value):
        self._check_value(value)
        nu, n = self.df, self._event_shape[-1]
        tril = self._unbroadcasted_scale_tril
        solved = value.cholesky_solve(tril)
        return (-nu * (n * math.log(2) / 2 + half_log_det(tril)) - (nu / 2).mvlgamma(n)
                + (nu - n - 1) / 2 * slogdet(value).logabsdet - solved.diagonal(dim1=-2, dim2=-1).sum(-1) / 2)

    def entropy(self):
        nu, n = self.df, self._event_shape[-1]
        return ((n + 1) * (n * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
                + (nu / 2).mvlgamma(n) - (nu - n - 1) / 2 * _multi_digamma(nu / 2, n) + nu * n / 2)

    @property
    def _natural_params(self):
        nu, n = self.df, self._event_shape[-1]
        return -self.precision_matrix / 2, (nu - n - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        return (y + (n + 1) / 2) * (-slogdet(-2 * x).logabsdet + math.log(2) * n) + (y + (n + 1) / 2).mvlgamma(n)


def _multi_digamma(x, n):
    """The derivative of the logarithm of the n-dimensional gamma function."""
    return (x.unsqueeze(-1) - arange(n, dtype=x.dtype, device=x.device) / 2).digamma().sum(-1)
