"""Dropout: zeros random elements or whole channels."""

import math

import numpy as np

from .. import _dtypes
from .._modes import modes
from .._tensor import engine_for, wrap
from ..autograd._writes import assign, check_history, check_writable, count_write, in_graph, snapshot
from ..engines import NUMPY
from ..ops.pointwise import mul
from ..random import default_of
from ._args import need_tensor
from ._randomness import sampling_levels
from ._types import typed
from .random import blank_like, draw_like

__all__ = [
    "alpha_dropout", "alpha_dropout_", "dropout", "dropout_", "feature_alpha_dropout", "feature_alpha_dropout_",
    "feature_dropout", "feature_dropout_",
]


def _blank_mask(input, feature):
    """Uninitialised memory for a mask with one entry per element of `input` (in memory order), or per channel."""
    a = input._a
    if not feature:
        return blank_like(input, a.dtype)
    if a.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return np.empty((*a.shape[:2], *(1,) * (a.ndim - 2)), a.dtype)


def _check_p(p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def _draw_scale(input, blank, p):
    """The factor of each element or channel."""
    generator = default_of(input.device)
    if not sampling_levels():
        drawn = engine_for(input).dropout_scale(generator, input._a, blank.shape, p)
        if drawn is not None:
            return wrap(drawn, input.device)
    return draw_like(input, blank, lambda mask: NUMPY.fill_dropout_scale(generator, mask, p))


def _dropout(input, p, train, name, feature, alpha):
    need_tensor(input, name)
    _check_p(p)
    if not train or p == 0 or input._a.size == 0:
        return input
    if p == 1:
        return mul(input, False)  # a zero of any dtype
    blank = _blank_mask(input, feature)
    if not _dtypes.is_inexact(input._a.dtype):
        word = _dtypes.type_word(input.dtype)
        raise RuntimeError(f"{name}: result type Float can't be cast to the desired output type {word}; use .float()")
    if not alpha:
        return mul(input, _draw_scale(input, blank, p))
    kept = draw_like(input, blank, lambda mask: NUMPY.fill_bernoulli(default_of(input.device), mask, 1 - p))
    saturated = 1.7580993408473766  # -alpha * scale of SELU: its negative limit
    scale = 1 / math.sqrt((saturated**2 * p + 1) * (1 - p))
    shift = (kept - 1) * (saturated * scale) + saturated * scale * p
    return mul(input, kept * scale).add_(shift)


@typed(p=float, train=bool)
def dropout(input, p, train):
    """Zeros elements with probability `p` and scales the others by 1 / (1 - p), if `train`."""
    return _dropout(input, p, train, "dropout", False, False)


@typed(p=float, train=bool)
def feature_dropout(input, p, train):
    """``dropout`` of whole channels."""
    return _dropout(input, p, train, "feature_dropout", True, False)


@typed(p=float, train=bool)
def alpha_dropout(input, p, train):
    """Dropout that keeps mean and variance under SELU."""
    return _dropout(input, p, train, "alpha_dropout", False, True)


@typed(p=float, train=bool)
def feature_alpha_dropout(input, p, train):
    """``alpha_dropout`` of whole channels."""
    return _dropout(input, p, train, "feature_alpha_dropout", True, True)


def _in_place(function, writes_twice=False):
    def method(input, p, train):
        need_tensor(input, name)
        if not train or p == 0 or not input._a.size:
            return function(input, p, False)
        check_writable(input)
        if modes.grad and in_graph(input):
            check_history(input)
            assign(input, function(snapshot(input), p, train), name, False)
        else:
            assign(input, function(input, p, train), name)
        if writes_twice and p != 1:
            count_write(input, name)  # one write for the factors, another for the shift
        return input

    name = method.__name__ = method.__qualname__ = function.__name__ + "_"
    method.__doc__ = f"In-place form of ``{function.__name__}``."
    return method


dropout_, feature_dropout_ = _in_place(dropout), _in_place(feature_dropout)
alpha_dropout_, feature_alpha_dropout_ = _in_place(alpha_dropout, True), _in_place(feature_alpha_dropout, True)
