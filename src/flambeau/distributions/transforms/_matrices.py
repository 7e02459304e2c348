"""Transforms to matrices: correlations, Cholesky factors, positive definite matrices."""

import math

from ..._dtypes import finfo
from ..._size import Size
from ...functions.creation import eye
from ...functions.linalg.decompose import cholesky
from ...nn.functional import pad, softplus
from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from ._elementwise import _Parameterless
from ._transform import Transform

NOT_A_TRIANGLE = "Input is not a flattened lower-diagonal number: {n} is not D (D - 1) / 2 for any D."
NOT_SQUARE = "Input is not square: {shape}."


class CorrCholeskyTransform(Transform):
    """Maps vectors of D (D - 1) / 2 numbers to Cholesky factors of D × D correlation matrices.

    The hyperbolic tangents of the numbers are canonical partial correlations, which split each row of unit length by
    stick breaking (Lewandowski, Kurowicka and Joe, 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_sticks = 0.5 * left.log().sum(-1)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return of_sticks + of_tanh

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input: expected at least 1")
        n = shape[-1]
        size = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != n:
            raise ValueError(NOT_A_TRIANGLE.format(n=n))
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape):
        if len(shape) < 2:
            raise ValueError(f"Too few dimensions on input: expected at least 2, got the shape {tuple(shape)}")
        if shape[-2] != shape[-1]:
            raise ValueError(NOT_SQUARE.format(shape=tuple(shape)))
        size = shape[-1]
        return Size((*shape[:-2], size * (size - 1) // 2))


class LowerCholeskyTransform(_Parameterless):
    """Maps square matrices to lower triangular ones by exponentiating the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Parameterless):
    """Maps square matrices to positive-definite ones: the product of a Cholesky factor with its transpose."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(cholesky(y))
