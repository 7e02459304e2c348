"""Smooth and piecewise activations of neural networks."""

from __future__ import annotations

import math

from ._op import op
from .elementary import exp, sigmoid, tanh
from .pointwise import keep, where

_INV_SQRT_TAU = 1 / math.sqrt(2 * math.pi)
_TANH_GELU = math.sqrt(2 / math.pi)


@op(opmath=True, refuses="bic")
def gelu(k, x):
    """x times the normal distribution function of x."""
    return k.gelu(x)


gelu.vjp(x=lambda g, x: gelu_pull(g, x))


@op(opmath=True, node="GeluBackwardBackward0")
def gelu_pull(k, g, x):
    """g times the distribution function of x and x times its density."""
    return k.gelu_pull(g, x)


gelu_pull.vjp(
    g=lambda h, x: gelu_pull(h, x),
    x=lambda h, g, x: h * g * ((2 - x * x) * exp(-0.5 * x * x) * _INV_SQRT_TAU),
)


@op(opmath=True, node="GeluBackward0", refuses="bic")
def gelu_tanh(k, x):
    """``gelu`` by way of tanh."""
    return 0.5 * x * (1 + k.tanh(_TANH_GELU * (x + 0.044715 * x * x * x)))


def _gelu_tanh_slope(g, x):
    t = tanh(_TANH_GELU * (x + 0.044715 * x * x * x))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_TANH_GELU * (1 + 3 * 0.044715 * x * x)))


gelu_tanh.vjp(x=_gelu_tanh_slope)


@op(opmath=True, refuses="bi")
def silu(k, x):
    return x * k.sigmoid(x)


def _silu_slope(g, x):
    s = sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


silu.vjp(x=_silu_slope)


@op(opmath=True, refuses="bic")
def mish(k, x):
    return x * k.tanh(k.softplus(x, 1.0, 20.0))


def _mish_slope(g, x):
    t = tanh(softplus(x, beta=1.0, threshold=20.0))
    return g * (t + x * (1 - t * t) * sigmoid(x))


mish.vjp(x=_mish_slope)


@op(opmath=True, refuses="bic")
def softplus(k, x, *, beta, threshold):
    """log(1 + exp(beta x)) / beta, and x itself above the threshold."""
    return k.softplus(x, beta, threshold)


softplus.vjp(x=lambda g, x, beta, threshold: where(x * beta > threshold, g, g * sigmoid(x * beta)))


@op(opmath=True, refuses="bic", row_major=True)
def log_sigmoid(k, x):
    return k.minimum(x, 0) - k.log1p(k.exp(-k.abs(x)))


log_sigmoid.vjp(x=lambda g, x: g * sigmoid(-x))


@op(opmath=True, refuses="c", piecewise_linear=True)
def hardtanh(k, x, *, low, high):
    return k.clip(x, low, high)


hardtanh.vjp(x=lambda g, x, low, high: keep(g, ~((x <= low) | (x >= high))))  # a NaN lets the gradient through


@op(opmath=True, refuses="bic", piecewise_linear=True)
def hardsigmoid(k, x):
    return k.clip(x / 6 + 0.5, 0, 1)


hardsigmoid.vjp(x=lambda g, x: keep(g / 6, (x > -3) & (x < 3)))


@op(opmath=True, refuses="bic")
def hardswish(k, x):
    return x * k.clip(x + 3, 0, 6) / 6


hardswish.vjp(x=lambda g, x: where(x <= -3, g * 0, where(x < 3, g * (x / 3 + 0.5), g)))


@op(opmath=True, refuses="bic", piecewise_linear=True)
def softshrink(k, x, *, lambd, edge):
    """Each element moved towards 0 by `lambd`; the gradient begins at `edge`, which is `lambd` but for its rounding."""
    return k.where(x > lambd, x - lambd, k.where(x < -lambd, x + lambd, k.keep(x, k.isnan(x))))


softshrink.vjp(x=lambda g, x, edge: keep(g, (x > edge) | (x < -edge)))
