"""Window functions: the ``*_window`` family, periodic by default."""

import numpy as np

from .. import _dtypes
from ._args import as_int, np_dtype_of
from .like import create

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def cosine_sum(x, coefficients):
    """a0 − a1 cos x + a2 cos 2x − ..."""
    return sum((-1) ** i * a * np.cos(i * x) for i, a in enumerate(coefficients))


def bartlett(n, length):
    return 1 - np.abs(2 * n / (length - 1) - 1)


def general_cosine(n, length, coefficients):
    return cosine_sum(2 * np.pi * n / (length - 1), coefficients)


def kaiser(n, length, beta):
    inside = np.maximum(1 - (2 * n / (length - 1) - 1) ** 2, 0)
    return np.i0(beta * np.sqrt(inside)) / np.i0(beta)


HANN = (0.5, 0.5)
BLACKMAN = (0.42, 0.5, 0.08)


def _window(name, formula, window_length, periodic, dtype, layout, device, requires_grad, *parameters):
    length = as_int(window_length, name, "window_length")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    target = np_dtype_of(dtype)
    if _dtypes.from_np(target).category != _dtypes.FLOAT:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")

    def make(shape, dtype):
        if length < 2:
            return np.ones(shape, dtype)
        return formula(np.arange(length, dtype=np.float64), length + bool(periodic), *parameters).astype(dtype)

    return create(name, make, (length,), target, layout, device, requires_grad)


def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False,
                    requires_grad=False):
    """The triangular window that is zero at both ends."""
    return _window("bartlett_window", bartlett, window_length, periodic, dtype, layout, device, requires_grad)


def blackman_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False,
                    requires_grad=False):
    """The Blackman window, a sum of three cosines."""
    return _window("blackman_window", general_cosine, window_length, periodic, dtype, layout, device, requires_grad,
                   BLACKMAN)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None,
                   pin_memory=False, requires_grad=False):
    """The Hamming window ``alpha − beta cos``."""
    return _window("hamming_window", general_cosine, window_length, periodic, dtype, layout, device, requires_grad,
                   (alpha, beta))


def hann_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False,
                requires_grad=False):
    """The Hann window, a raised cosine."""
    return _window("hann_window", general_cosine, window_length, periodic, dtype, layout, device, requires_grad, HANN)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=False,
                  requires_grad=False):
    """The Kaiser window of shape `beta`."""
    return _window("kaiser_window", kaiser, window_length, periodic, dtype, layout, device, requires_grad, beta)
