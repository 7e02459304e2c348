"""Kernels of activations."""

from __future__ import annotations

import numpy as np

from .. import NUMPY as engine
from .._formulas import ACTIVATIONS, define

define(engine, *ACTIVATIONS)


@engine.kernel
def softplus(x, beta, threshold):
    scaled = x * beta
    return np.where(scaled > threshold, x, -engine.log_sigmoid(-scaled) / beta).astype(x.dtype, copy=False)
