"""The activations of ``torch`` itself; the others are in ``nn.functional``."""

import math
from functools import partial

import numpy as np

from .. import _dtypes
from ..ops import activation as ops
from ..ops.shape import view_or_copy
from ._args import need_tensor
from ._attach import methods
from ._data import LARGEST_HALF, scalar_for
from ._inplace import inplace
from ._out import out_variant, same
from ._types import number_in

__all__ = [
    "celu", "celu_", "hardshrink", "prelu", "relu", "relu_", "rrelu", "rrelu_", "selu", "selu_", "threshold",
    "threshold_",
]

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
PRELU_CHANNELS = (
    "Mismatch of parameter numbers and input channel size. Found parameter numbers = {weights} and channel "
    "size = {channels}."
)

def relu(input):
    """Each element, with negative ones replaced by 0."""
    return ops.relu(need_tensor(input, "relu"))


def celu(input, alpha=1.0):
    """``x`` for positive elements, ``alpha * (exp(x / alpha) - 1)`` for the others."""
    return _celu(ops.celu, input, alpha)


def _celu(op, input, alpha=1.0):
    need_tensor(input, "celu")
    alpha = number_of(input, alpha, "celu", "alpha", 2, wide=True)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return op(input, alpha=alpha)


def selu(input):
    """The self-normalizing ELU: scaled so that activations keep mean 0 and variance 1."""
    return _selu(ops.elu, input)


def _selu(op, input):
    return op(need_tensor(input, "selu"), alpha=SELU_ALPHA, scale=SELU_SCALE, input_scale=1.0)


@out_variant(aliases="any")
def threshold(input, threshold, value):
    """Elements above the threshold are kept, others replaced by ``value``."""
    return _threshold(ops.threshold, input, threshold, value)


def _threshold(op, input, threshold, value):
    need_tensor(input, "threshold")
    threshold = number_of(input, threshold, "threshold", "threshold", 2, wide=True)
    if input._a.dtype.kind in "iu":
        scalar_for(threshold, input._a.dtype)
    value = number_of(input, value, "threshold", "value", 3)
    return op(input, threshold=threshold, value=value)


def number_of(input, value, name, argument, position, wide=False):
    """Checks that the dtype of `input` can hold a number; with `wide`, the dtype that half precision computes in."""
    number, dtype = number_in(value, name, argument, position), input._a.dtype
    if not -LARGEST_HALF <= number <= LARGEST_HALF and input.is_floating_point():
        scalar_for(number, np.dtype(np.float32) if wide and dtype in _dtypes.HALF else dtype)
    return number


def in_half(number, input):
    """Rounds a number that elements are compared with to the precision of `input` if that is half."""
    dtype = input._a.dtype
    return float(np.asarray(float(number), dtype)) if dtype in _dtypes.HALF else number


@out_variant(dtype=same)
def hardshrink(input, lambd=0.5):
    """Elements are kept, or replaced by 0 where their absolute value is at most ``lambd``."""
    need_tensor(input, "hardshrink")
    return ops.hardshrink(input, lambd=in_half(number_of(input, lambd, "hardshrink", "lambd", 2), input))


def prelu(input, weight):
    """``x`` for positive elements, ``weight * x`` for the others; with one weight, or one per channel."""
    need_tensor(input, "prelu")
    need_tensor(weight, "prelu", "weight", 2)
    a, w = input._a, weight._a
    if a.dtype != w.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if w.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    if w.size != 1:
        if a.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = a.shape[1] if a.ndim >= 2 else 1
        if channels != w.size:
            raise RuntimeError(PRELU_CHANNELS.format(weights=w.size, channels=channels))
    if a.ndim >= 2:
        weight = view_or_copy(weight, (1, w.size) + (1,) * (a.ndim - 2))
    elif w.ndim and a.ndim == 0:
        weight = view_or_copy(weight, ())
    return ops.prelu(input, weight)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """Leaky ReLU with a random slope per element in training, and with the mean of the bounds otherwise."""
    return _rrelu(ops.rrelu_eval, ops.rrelu_train, input, lower, upper, training, generator)


def _rrelu(op, op_in_training, input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    need_tensor(input, "rrelu")
    lower, upper = number_in(lower, "rrelu", "lower", 2), number_in(upper, "rrelu", "upper", 3)
    for side, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {side} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}")
    if not training:
        return op(input, slope=(lower + upper) / 2)
    return op_in_training(input, random_slopes(input.detach(), lower, upper, generator))


def random_slopes(input, lower, upper, generator):
    """1 for positive elements, otherwise a random slope, drawn in double precision as in PyTorch."""
    negative = input <= 0
    drawn = input.new_empty(int(negative.sum()), dtype=_dtypes.float64).uniform_(lower, upper, generator=generator)
    return input.new_ones(input.shape).masked_scatter(negative, drawn.to(input.dtype))


relu_ = inplace(relu, "relu_", True, lambda: ("relu",))
threshold_ = inplace(threshold, "threshold_", True, recorded=partial(_threshold, ops.threshold_in_place))
celu_ = inplace(celu, "celu_", elementwise=True, recorded=partial(_celu, ops.celu_in_place))
selu_ = inplace(selu, "selu_", elementwise=True, recorded=partial(_selu, ops.elu_in_place))
rrelu_ = inplace(rrelu, "rrelu_",  # what it draws depends on the number of elements
                 recorded=partial(_rrelu, ops.rrelu_eval_in_place, ops.rrelu_train_in_place))
methods(hardshrink, prelu, relu, relu_)
