"""Initial values for parameters, drawn in PyTorch's order."""

import math
import warnings

from .._modes import no_grad
from ..functions.creation import eye as identity_matrix
from ..functions.like import empty_like
from ..functions.linalg.decompose import qr
from ..functions.random import randperm

__all__ = ["calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
           "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_"]

_CONVOLUTIONS = [f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)]
_LINEAR = ("linear", "sigmoid", *_CONVOLUTIONS)


def calculate_gain(nonlinearity, param=None):
    """The recommended gain for a nonlinearity."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fills the tensor with uniform numbers in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fills the tensor with normal numbers."""
    return tensor.normal_(mean, std, generator=generator)


_ENOUGH = 0.3  # the share of normal draws inside the interval above which it pays to draw normals


@no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fills the tensor with normal numbers restricted to [a, b], by rejection sampling.

    If most normals would miss the interval, uniform numbers are drawn and accepted in proportion to their density.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.", stacklevel=2,
        )
    low, high = (a - mean) / std, (b - mean) / std
    inside = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    draw = _normals_inside if inside > _ENOUGH else _uniforms_by_density
    missed = draw(tensor, mean, std, a, b, generator)
    if not missed.any():
        return tensor
    numbers, fresh = tensor, empty_like(tensor)
    while missed.any():
        missed_again = draw(fresh, mean, std, a, b, generator)
        numbers = fresh.where(missed, numbers)
        missed = missed & missed_again
    return tensor.copy_(numbers)


def _normals_inside(tensor, mean, std, a, b, generator):
    """Draws normals; returns which of them are outside [a, b] (bounds rounded to the dtype)."""
    tensor.normal_(mean, std, generator=generator)
    low, high = tensor.new_tensor([a, b], device="cpu").tolist()
    return (tensor < low) | (tensor > high)


def _uniforms_by_density(tensor, mean, std, a, b, generator):
    """Draws uniform numbers in [a, b]; returns which of them are rejected."""
    tensor.uniform_(a, b, generator=generator)
    peak = 0.0 if a <= mean <= b else min(abs(a - mean), abs(b - mean)) / std
    density = ((peak**2 - ((tensor - mean) / std) ** 2) * 0.5).exp()
    return empty_like(tensor).uniform_(generator=generator) > density


@no_grad()
def constant_(tensor, val):
    """Fills the tensor with one value."""
    return tensor.fill_(val)


def ones_(tensor):
    """Fills the tensor with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Fills the tensor with zeros."""
    return constant_(tensor, 0.0)


@no_grad()
def eye_(tensor):
    """Fills a matrix with the identity."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return identity_matrix(*tensor.shape, out=tensor)


@no_grad()
def dirac_(tensor, groups=1):
    """Fills a convolution's weight so that it preserves its input channels."""
    dims = tensor.ndimension()
    if dims not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for d in range(min(per_group, tensor.size(1))):
            tensor[(group * per_group + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    """The number of inputs of each output, and of outputs of each input."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def _xavier_std(tensor, gain):
    return gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Xavier (Glorot) initialization with uniform numbers."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Xavier (Glorot) initialization with normal numbers."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _no_elements(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Kaiming (He) initialization with uniform numbers."""
    if _no_elements(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Kaiming (He) initialization with normal numbers."""
    if _no_elements(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@no_grad()
def orthogonal_(tensor, gain=1, generator=None):
    """A (semi-)orthogonal matrix, from the QR decomposition of normal numbers."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    wide = rows < columns
    q, r = qr(flat.t() if wide else flat)
    q = q * r.diagonal().sign()
    tensor.view_as(q.t() if wide else q).copy_(q.t() if wide else q)
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers, of which each column has the fraction `sparsity` set to zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:zeros], column] = 0  # not drawn from the generator, in PyTorch too
    return tensor


def _old_name(function):
    name = function.__name__[:-1]

    def old(*args, **kwargs):
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    old.__name__, old.__doc__ = name, f"The old name of ``{name}_``."
    return old


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal, sparse = map(
    _old_name, (xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_, orthogonal_, sparse_)
)
