"""Activation layers."""

from __future__ import annotations

import warnings

from ...functions import elementary
from ...functions.creation import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._variants import Variants
from .module import Module
from .multihead_attention import MultiheadAttention as MultiheadAttention  # as in PyTorch, also in this file

__all__ = ["CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
           "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax",
           "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold"]


class _Plain(Variants):
    """An activation without settings."""


    def forward(self, input):
        return getattr(F, self._function)(input)


class _InPlace(Variants):
    """An activation whose only setting is whether it overwrites its input."""

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return getattr(F, self._function)(input, inplace=self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input):
        return elementary.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input):
        return elementary.tanh(input)


class LogSigmoid(_Plain, _function="logsigmoid"):
    """The logarithm of the sigmoid."""


class Softsign(_Plain, _function="softsign"):
    """``x / (1 + |x|)``."""


class Tanhshrink(_Plain, _function="tanhshrink"):
    """``x - tanh(x)``."""


class ReLU(_InPlace, _function="relu"):
    """The rectified linear unit: ``max(0, x)``."""


class SiLU(_InPlace, _function="silu"):
    """``x * sigmoid(x)``."""


class Mish(_InPlace, _function="mish"):
    """``x * tanh(softplus(x))``."""


class SELU(_InPlace, _function="selu"):
    """The self-normalizing ELU."""


class Hardswish(_InPlace, _function="hardswish"):
    """``x * hardsigmoid(x)``."""

    def extra_repr(self):
        return ""


class Hardsigmoid(_InPlace, _function="hardsigmoid"):
    """A piecewise linear sigmoid: ``clamp(x + 3, 0, 6) / 6``."""

    def extra_repr(self):
        return ""


class Threshold(Module):
    """``x`` for elements above a threshold, ``value`` for the others."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return f"threshold={self.threshold}, value={self.value}{', inplace=True' if self.inplace else ''}"


class RReLU(Module):
    """Leaky ReLU with a random negative slope for each element in training."""

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}{', inplace=True' if self.inplace else ''}"


class Hardtanh(Module):
    """``x`` clamped to [min_val, max_val]."""

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__()
        for old, new in (("min_value", "min_val"), ("max_value", "max_val")):
            if locals()[old] is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated, use `{new}`", FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val must be larger than min_val, got {self.max_val} and {self.min_val}")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}{', inplace=True' if self.inplace else ''}"


class ReLU6(Hardtanh):
    """``x`` clamped to [0, 6]."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class _Alpha(Variants):
    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return getattr(F, self._function)(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


class ELU(_Alpha, _function="elu"):
    """``x`` for positive elements, ``alpha * (exp(x) - 1)`` for the others."""


class CELU(_Alpha, _function="celu"):
    """``x`` for positive elements, ``alpha * (exp(x / alpha) - 1)`` for the others."""


class LeakyReLU(Module):
    """``x`` for positive elements, ``negative_slope * x`` for the others."""

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}{', inplace=True' if self.inplace else ''}"


class GELU(Module):
    """``x * Φ(x)`` with the normal CDF Φ, exact or approximated by ``"tanh"``."""

    __constants__ = ["approximate"]

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half along `dim`, gated by the sigmoid of the second."""

    __constants__ = ["dim"]

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class _Shrink(Variants):
    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return getattr(F, self._function)(input, self.lambd)

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(_Shrink, _function="hardshrink"):
    """``x``, but 0 where its absolute value is at most ``lambd``."""


class Softshrink(_Shrink, _function="softshrink"):
    """``x`` shrunk towards 0 by ``lambd``."""


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself above the threshold."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """Leaky ReLU with learnable negative slopes: one, or one per channel."""

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Sets all slopes to their initial value."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Variants):
    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def forward(self, input):
        return getattr(F, self._function)(input, self.dim, _stacklevel=5)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_AlongDim, _function="softmax"):
    """The exponentials along `dim`, normalized to sum to 1."""


class LogSoftmax(_AlongDim, _function="log_softmax"):
    """The logarithm of ``Softmax``."""


class Softmin(_AlongDim, _function="softmin"):
    """``Softmax`` of the negated input."""


class Softmax2d(Module):
    """``Softmax`` over the channels of images."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
