"""Activation kernels."""

import numpy as np

from .. import NUMPY as engine
from .._formulas import ACTIVATIONS, define

define(engine, *ACTIVATIONS)

PIECE = 1 << 16  # elements processed at a time: several arrays of that size fit in the cache


@engine.kernel
def softplus(x, beta, threshold):
    scaled = x * beta
    return np.where(scaled > threshold, x, -engine.log_sigmoid(-scaled) / beta).astype(x.dtype, copy=False)


@engine.kernel
def finish(x, how):
    """An epilogue: ``x * scale + shift`` per channel, then an activation. `how` has these and the activation's numbers.

    Scale and shift, or the activation, may be None.
    """
    scale, shift, name, numbers = how
    if scale is not None:
        of_channels = (-1, *[1] * (x.ndim - 2))
        x = engine.scale_shift(x, scale.reshape(of_channels), shift.reshape(of_channels))
    return x if name is None else getattr(engine, name)(x, *numbers)


@engine.kernel
def overwrite(x, name, numbers):
    """Runs the kernel of the given name in place, on x and numbers."""
    kernel = getattr(engine, name)
    flat = x.reshape(-1) if x.flags.c_contiguous else None
    pieces = [x] if flat is None else [flat[i : i + PIECE] for i in range(0, flat.size, PIECE)]
    for piece in pieces:  # to avoid a second array of that size
        piece[...] = kernel(piece, *numbers)
    return x
