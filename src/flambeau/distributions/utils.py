"""Helpers for distributions: broadcasting, probabilities and logits, lazy properties."""

from functools import update_wrapper
from numbers import Number

from .._dtypes import finfo, get_default_dtype
from .._modes import enable_grad
from .._tensor import Tensor
from ..functions.broadcast import broadcast_tensors
from ..functions.creation import arange, empty
from ..functions.from_data import tensor

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060  # Euler's γ

NEITHER_NUMBER_NOR_TENSOR = (
    "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__, but "
    "argument {position} is a {type}."
)


def broadcast_all(*values):
    """Broadcasts numbers and tensors; numbers take the dtype and device of the first tensor.

    Example::

        >>> from flambeau.distributions.utils import broadcast_all
        >>> broadcast_all(1, flambeau.tensor([2.0, 3.0]))
        (tensor([1., 1.]), tensor([2., 3.]))
    """
    for position, value in enumerate(values):
        if not isinstance(value, Tensor | Number):
            message = NEITHER_NUMBER_NOR_TENSOR.format(position=position, type=type(value).__name__)
            raise ValueError(message)
    like = next((v for v in values if isinstance(v, Tensor)), None)
    options = {"dtype": get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device}
    return tuple(broadcast_tensors(*[v if isinstance(v, Tensor) else tensor(v, **options) for v in values]))


def standard_normal(shape, dtype, device):
    """Samples of the standard normal distribution."""
    return empty(shape, dtype=dtype, device=device).normal_()


_standard_normal = standard_normal  # imported by other libraries under this name


def sum_rightmost(value, dim):
    """Sums over the last `dim` dimensions.

    Example::

        >>> from flambeau.distributions.utils import sum_rightmost
        >>> sum_rightmost(flambeau.ones(2, 3, 4), 2)
        tensor([12., 12.])
    """
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


_sum_rightmost = sum_rightmost  # likewise


# ---- probabilities and logits


def logits_to_probs(logits, is_binary=False):
    """Probabilities from logits: of binary events, or of categories along the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs):
    """Probabilities clamped away from 0 and 1 by the dtype's epsilon, so that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Logits from probabilities: log-odds of binary events, or logarithms of categories along the last dimension."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


# ---- properties that are computed once


class lazy_property:
    """A property that is computed on first access and then stored on the instance.

    It is computed with gradients enabled, even under no_grad.
    """

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


# ---- triangular matrices


def tril_matrix_to_vec(mat, diag=0):
    """Flattens the elements of matrices on and below a diagonal, row by row, to vectors.

    Example::

        >>> from flambeau.distributions.utils import tril_matrix_to_vec
        >>> tril_matrix_to_vec(flambeau.tensor([[1.0, 0.0], [2.0, 3.0]]))
        tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below(n, diag, mat.device)]


def vec_to_tril_matrix(vec, diag=0):
    """Square matrices with the elements of vectors on and below a diagonal, row by row.

    Example::

        >>> from flambeau.distributions.utils import vec_to_tril_matrix
        >>> vec_to_tril_matrix(flambeau.tensor([1.0, 2.0, 3.0]))
        tensor([[1., 0.],
                [2., 3.]])
    """
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    eps = finfo(vec.dtype).eps
    if round(n) - n > eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of "
            "a square D x D matrix."
        )
    n = round(n)
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _below(n, diag, vec.device)] = vec
    return mat


def _below(n, diag, device):
    """A mask of the elements of an n × n matrix on or below a diagonal."""
    index = arange(n, device=device)
    return index <= index.reshape(-1, 1) + diag
