"""Kernels of activations."""

from __future__ import annotations

import math

import numpy as np

from .. import NUMPY as engine

INV_SQRT_2 = math.sqrt(0.5)
INV_SQRT_TAU = 1 / math.sqrt(2 * math.pi)


@engine.kernel
def softplus(x, beta, threshold):
    scaled = x * beta
    return np.where(scaled > threshold, x, engine.log_sigmoid(-scaled) / -beta).astype(x.dtype, copy=False)


@engine.kernel
def log_sigmoid(x):
    """The logarithm of the sigmoid, also where that is 0 or 1 in rounding."""
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


@engine.kernel
def gelu(x):
    return 0.5 * x * (1 + engine.erf(x * INV_SQRT_2))


@engine.kernel
def gelu_pull(g, x):
    return g * (0.5 * (1 + engine.erf(x * INV_SQRT_2)) + x * np.exp(-0.5 * x * x) * INV_SQRT_TAU)


@engine.kernel
def threshold_pull(g, x, threshold):
    return engine.keep(g, ~(x <= threshold))
