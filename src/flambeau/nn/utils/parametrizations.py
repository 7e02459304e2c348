"""Parametrizations: orthogonal, spectral norm, weight norm."""

from ..._modes import no_grad
from ..._tensor import Tensor
from ...functions.creation import eye
from ...functions.join import cat
from ...functions.like import zeros_like
from ...functions.linalg.decompose import householder_product
from ...functions.linalg.solve import matrix_exp, solve
from ...functions.linalg.top_level import geqrf
from ...functions.matmul import vdot
from ...functions.random import randn
from ..functional import normalize
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import ITERATIONS, as_matrix, output_dim
from .weight_norm import WHOLE, norm_except_dim, with_length

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

NO_TENSOR = "Module '{module}' has no parameter or buffer with name '{name}'"
MAPS = ("matrix_exp", "cayley", "householder")
UNKNOWN_MAP = 'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {name}'
NOT_MATRICES = "Expected a matrix or batch of matrices. Got a tensor of {ndim} dimensions."
NO_COMPLEX = "The householder parametrization does not support complex tensors."
OTHER_SHAPE = "Expected a matrix or batch of matrices of shape {expected}. Got a tensor of shape {got}."
NO_ASSIGNMENT = (
    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
    "use_trivialization=False."
)
DIM_RANGE = "Dimension out of range (expected to be in range of [-{ndim}, {last}] but got {dim})"

_SETTLING_STEPS = 15  # initial power iterations of spectral norm


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keeps a matrix (or a batch of them) orthogonal: its columns, or its rows if those are fewer, are orthonormal.

    ``orthogonal_map`` is the map from matrices to orthogonal ones: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``;
    by default the first for square or complex matrices, and the last for others. With ``use_trivialization`` its result
    is multiplied by a base matrix, so that any orthogonal matrix can be assigned.

    Example::

        >>> m = nn.utils.parametrizations.orthogonal(nn.Linear(3, 2))
        >>> flambeau.allclose(m.weight @ m.weight.mT, flambeau.eye(2), atol=1e-6)
        True
    """
    weight = _tensor(module, name)
    if weight.dim() < 2:
        raise ValueError(NOT_MATRICES.format(ndim=weight.dim()))
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(UNKNOWN_MAP.format(name=orthogonal_map))
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a tensor by an estimate of its largest singular value, which improves with each access in training.

    ``dim`` is the dimension of the outputs: 1 for transposed convolutions, else 0.
    """
    weight = _tensor(module, name)
    parametrization = _SpectralNorm(weight, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return register_parametrization(module, name, parametrization)


def weight_norm(module, name="weight", dim=0):
    """Computes a tensor from its norms along ``dim`` (``original0``) and its direction (``original1``).

    With ``dim=None`` the whole tensor has one norm.

    Example::

        >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
        >>> m.parametrizations.weight.original0.shape, m.parametrizations.weight.original1.shape
        (torch.Size([40, 1]), torch.Size([40, 20]))
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_older_names(state_dict, prefix, *_):
        """Loads state dicts of the older, hook-based weight_norm, which uses other names."""
        for old, new in ((f"{name}_g", "original0"), (f"{name}_v", "original1")):
            if prefix + old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = state_dict.pop(prefix + old)

    module._register_load_state_dict_pre_hook(read_older_names)
    return module


def _tensor(module, name):
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(NO_TENSOR.format(module=module, name=name))
    return tensor


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = WHOLE if dim is None else dim

    def forward(self, weight_g, weight_v):
        return with_length(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(DIM_RANGE.format(ndim=ndim, last=ndim - 1, dim=dim))
        if n_power_iterations <= 0:
            raise ValueError(ITERATIONS.format(n=n_power_iterations))
        self.dim = dim % ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if ndim == 1:
            return  # the singular value of a vector is its norm
        matrix = as_matrix(weight, self.dim)
        u, v = (matrix.new_empty(n).normal_(0, 1) for n in matrix.shape)
        self.register_buffer("_u", normalize(u, dim=0, eps=eps))
        self.register_buffer("_v", normalize(v, dim=0, eps=eps))
        self._power_method(matrix, _SETTLING_STEPS)

    @no_grad()
    def _power_method(self, matrix, steps):
        """Updates the estimates of the singular vectors by power iteration, in place."""
        for _ in range(steps):
            self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Backward needs the current vectors, which later accesses overwrite.
        u, v = self._u.clone(), self._v.clone()
        return weight / vdot(u, matrix.mv(v))

    def right_inverse(self, value):
        return value


class _Orthogonal(Module):
    """Maps matrices to orthogonal ones. Wide matrices are transposed first, since the maps are for tall ones."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError(NO_COMPLEX)
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        Q = _of_reflections(X) if self.orthogonal_map == "householder" else self._of_skew(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _of_skew(self, X):
        """The orthogonal matrix for the skew-Hermitian matrix with the lower triangle of `X`."""
        rows, columns = X.size(-2), X.size(-1)
        X = X.tril()
        if rows != columns:
            X = cat([X, X.new_zeros(*X.shape[:-1], rows - columns)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = matrix_exp(A)
        else:
            identity = eye(rows, dtype=A.dtype, device=A.device)
            Q = solve(identity - A / 2, identity + A / 2)
        return Q if rows == columns else Q[..., :columns]

    @no_grad()
    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(OTHER_SHAPE.format(expected=self.shape, got=Q.shape))
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        if hasattr(self, "base"):
            self.base = _orthogonal_basis(tall)
            return _identity_of_maps(Q)
        if self.orthogonal_map != "householder":
            raise NotImplementedError(NO_ASSIGNMENT)
        X = _reflections(tall)
        return X.mT if wide else X


def _of_reflections(X):
    """The product of the reflections given by the columns of `X` below its diagonal, times the signs on the diagonal.
    """
    A = X.tril(diagonal=-1)
    tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
    return householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _reflections(Q):
    """A matrix that ``_of_reflections`` maps to `Q`, if that is orthogonal."""
    A, tau = geqrf(Q)
    signs = A.diagonal(dim1=-2, dim2=-1)
    signs.sign_()
    signs[tau == 0.0] *= -1
    return A


def _orthogonal_basis(Q):
    """A square orthogonal matrix whose first columns span the columns of `Q`, and equal them if these are orthonormal.
    """
    rows, columns = Q.size(-2), Q.size(-1)
    if rows != columns:
        more = randn(*Q.shape[:-2], rows, rows - columns, dtype=Q.dtype, device=Q.device)
        Q = cat([Q, more], dim=-1)
    A, tau = geqrf(Q)
    return householder_product(A, tau) * A.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _identity_of_maps(Q):
    """The matrix that every map sends to the identity."""
    X = zeros_like(Q)
    X.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
    return X
