"""Activation functions."""

import warnings
from functools import partial

import numpy as np

from ..._dtypes import finfo, is_inexact
from ..._modes import modes
from ...functions import activation as base
from ...functions import elementary
from ...functions._args import need_tensor
from ...functions._data import scalar_for
from ...functions._inplace import inplace as in_place
from ...functions._types import number_in, read
from ...functions.reduce import log_softmax as _log_softmax
from ...functions.reduce import softmax as _softmax
from ...ops import activation as ops
from ...ops._errors import refuse_kinds

__all__ = ["celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
           "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu",
           "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus",
           "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_"]

NO_DIM = "Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
NO_COMPLEX_SILU = (
    "silu does not support automatic differentiation for outputs with complex dtype. Detach the input, or write "
    "x * sigmoid(x)."
)

hardshrink, number_of, prelu = base.hardshrink, base.number_of, base.prelu
celu_, relu_, rrelu_, selu_, threshold_ = base.celu_, base.relu_, base.rrelu_, base.selu_, base.threshold_
sigmoid, tanh = elementary.sigmoid, elementary.tanh


def relu(input, inplace=False):
    """The rectified linear unit: ``max(0, x)``."""
    return relu_(input) if inplace else ops.relu(need_tensor(input, "relu"))


def threshold(input, threshold, value, inplace=False):
    """``x`` for elements above the threshold, ``value`` for the others."""
    return (threshold_ if inplace else base.threshold)(input, threshold, value)


def celu(input, alpha=1.0, inplace=False):
    """``x`` for positive elements, ``alpha * (exp(x / alpha) - 1)`` for the others."""
    return (celu_ if inplace else base.celu)(input, alpha)


def selu(input, inplace=False):
    """The self-normalizing ELU."""
    return (selu_ if inplace else base.selu)(input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU with a random negative slope for each element in training."""
    return (rrelu_ if inplace else base.rrelu)(input, lower, upper, training)


def _elu(input, alpha=1.0):
    return _elu_by(ops.elu, input, alpha)


def _elu_by(op, input, alpha=1.0):
    need_tensor(input, "elu")
    return op(input, alpha=number_of(input, alpha, "elu", "alpha", 2, wide=True), scale=1.0, input_scale=1.0)


def _leaky_relu(input, negative_slope=0.01):
    return _leaky_relu_by(ops.leaky_relu, input, negative_slope)


def _leaky_relu_by(op, input, negative_slope=0.01):
    need_tensor(input, "leaky_relu")
    slope = number_of(input, negative_slope, "leaky_relu", "negative_slope", 2, wide=True)
    return op(input, negative_slope=slope)


def _hardtanh(input, min_val=-1.0, max_val=1.0):
    need_tensor(input, "hardtanh")
    min_val, max_val = number_in(min_val, "hardtanh", "min_val", 2), number_in(max_val, "hardtanh", "max_val", 3)
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, got {min_val} and {max_val}")
    min_val = number_of(input, min_val, "hardtanh", "min_val", 2)
    max_val = number_of(input, max_val, "hardtanh", "max_val", 3)
    if not is_inexact(input._a.dtype):
        if input._a.dtype.kind == "b":
            raise RuntimeError("Bool inputs not supported for hardtanh; convert them first, for example with .float()")
        min_val, max_val = (scalar_for(bound, np.dtype(np.int64)) for bound in (min_val, max_val))
    return ops.hardtanh(input, low=min_val, high=max_val)


def _hardsigmoid(input):
    return ops.hardsigmoid(need_tensor(input, "hardsigmoid"))


def _hardswish(input):
    return ops.hardswish(need_tensor(input, "hardswish"))


def _silu(input):
    need_tensor(input, "silu")
    if input._a.dtype.kind == "c" and modes.grad and input.requires_grad:
        raise RuntimeError(NO_COMPLEX_SILU)
    return ops.silu(input)


def _mish(input):
    return ops.mish(need_tensor(input, "mish"))


def _clip(min_val=-1.0, max_val=1.0):
    """The kernel of ``hardtanh``; rejects ``min_val > max_val``."""
    return ("clip", min_val, max_val) if min_val <= max_val else ("clip", None)


elu_, leaky_relu_, hardtanh_, _hardsigmoid_, _hardswish_, _silu_, _mish_ = (
    in_place(function, function.__name__.strip("_") + "_", True, kernel, *recorded)
    for function, kernel, *recorded in (
        (_elu, lambda alpha=1.0: ("elu", alpha, 1.0, 1.0), partial(_elu_by, ops.elu_in_place)),
        (_leaky_relu, lambda negative_slope=0.01: ("leaky_relu", negative_slope),
         partial(_leaky_relu_by, ops.leaky_relu_in_place)),
        (_hardtanh, _clip),
        (_hardsigmoid, lambda: ("hardsigmoid",)),
        (_hardswish, lambda: ("hardswish",)),
        (_silu, lambda: ("silu",)),
        (_mish, lambda: ("mish",)),
    )
)


def elu(input, alpha=1.0, inplace=False):
    """``x`` for positive elements, ``alpha * (exp(x) - 1)`` for the others."""
    return (elu_ if inplace else _elu)(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """``x`` for positive elements, ``negative_slope * x`` for the others."""
    return (leaky_relu_ if inplace else _leaky_relu)(input, negative_slope)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """``x`` clamped to [min_val, max_val]."""
    return (hardtanh_ if inplace else _hardtanh)(input, min_val, max_val)


def relu6(input, inplace=False):
    """``x`` clamped to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input, inplace=False):
    """A piecewise linear sigmoid: ``clamp(x + 3, 0, 6) / 6``."""
    return (_hardsigmoid_ if inplace else _hardsigmoid)(input)


def hardswish(input, inplace=False):
    """``x * hardsigmoid(x)``."""
    return (_hardswish_ if inplace else _hardswish)(input)


def silu(input, inplace=False):
    """``x * sigmoid(x)``."""
    return (_silu_ if inplace else _silu)(input)


def mish(input, inplace=False):
    """``x * tanh(softplus(x))``."""
    return (_mish_ if inplace else _mish)(input)


def gelu(input, approximate="none"):
    """``x * Φ(x)`` with the normal CDF Φ, exact or approximated by ``"tanh"``."""
    need_tensor(input, "gelu")
    read(approximate, str, "gelu", "approximate", 2)
    if approximate == "none":
        return ops.gelu(input)
    if approximate == "tanh":
        return ops.gelu_tanh(input)
    raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}.")


def softplus(input, beta=1.0, threshold=20.0):
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself where ``beta * x`` is above the threshold."""
    need_tensor(input, "softplus")
    beta = number_of(input, beta, "softplus", "beta", 2, wide=True)
    threshold = number_of(input, threshold, "softplus", "threshold", 3, wide=True)
    return ops.softplus(input, beta=beta, threshold=threshold)


def logsigmoid(input):
    """The logarithm of the sigmoid."""
    return ops.log_sigmoid(need_tensor(input, "logsigmoid"))


def softshrink(input, lambd=0.5):
    """``x`` shrunk towards 0 by ``lambd``."""
    need_tensor(input, "softshrink")
    lambd = number_in(lambd, "softshrink", "lambd", 2)
    if input.is_floating_point() and not 0 <= lambd <= finfo(input.dtype).max:
        limits = f"[0, {finfo(input.dtype).max:g}]"
        raise RuntimeError(f"lambda must be in range {limits} for input dtype {input.dtype}, but found {lambd}")
    return ops.softshrink(input, lambd=lambd, edge=base.in_half(lambd, input))


def tanhshrink(input):
    """``x - tanh(x)``."""
    return input - input.tanh()


def softsign(input):
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def glu(input, dim=-1):
    """The first half along `dim`, gated by the sigmoid of the second."""
    need_tensor(input, "glu")
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if input.size(dim) % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.size(dim)}")
    refuse_kinds("glu", input._a, "bic")
    half = input.size(dim) // 2
    return input.narrow(dim, 0, half) * input.narrow(dim, half, half).sigmoid()


def _dim(input, dim, name, stacklevel):
    if dim is not None:
        return dim
    warnings.warn(NO_DIM.format(name=name), stacklevel=stacklevel)
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The exponentials along `dim`, normalized to sum to 1."""
    return _softmax(input, _dim(input, dim, "softmax", _stacklevel), dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """``softmax`` of the negated input."""
    return _softmax(-input, _dim(input, dim, "softmin", _stacklevel), dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of ``softmax``."""
    return _log_softmax(input, _dim(input, dim, "log_softmax", _stacklevel), dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A differentiable sample of a categorical distribution; one-hot if `hard`."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -logits.detach().new_empty(logits.shape).exponential_().log()
    soft = _softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = soft.detach().new_zeros(soft.shape).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft
