"""Window functions with SciPy's conventions: ``sym=True`` for filters, ``sym=False`` for spectra."""

import numpy as np

from .. import _dtypes
from .._device import strided
from ..functions import windows as formulas
from ..functions._args import as_float, np_dtype_of
from ..functions.like import create

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
           "hann", "kaiser", "nuttall"]

NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def _window(name, formula, M, sym, dtype, layout, device, requires_grad, *parameters):
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    target = np_dtype_of(dtype)
    if _dtypes.from_np(target) not in (_dtypes.float32, _dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")

    def make(shape, dtype):
        if M < 2:
            return np.ones(shape, dtype)
        return formula(np.arange(M, dtype=np.float64), M if sym else M + 1, *parameters).astype(dtype)

    return create(name, make, (M,), target, None, device, requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The triangular window that is zero at both ends."""
    return _window("bartlett", formulas.bartlett, M, sym, dtype, layout, device, requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The Blackman window."""
    return _window("blackman", formulas.general_cosine, M, sym, dtype, layout, device, requires_grad, formulas.BLACKMAN)


def cosine(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Half a period of a sine."""
    return _window("cosine", lambda n, length: np.sin(np.pi * (n + 0.5) / length), M, sym, dtype, layout, device,
                   requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """``exp(−|n − center| / tau)``, by default centred; ``center`` requires ``sym=False``."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def formula(n, length):
        middle = (length - 1) / 2 if center is None else center
        return np.exp(-np.abs(n - middle) / tau)

    return _window("exponential", formula, M, sym, dtype, layout, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """A Gaussian of standard deviation `std`."""
    width = as_float(std, "gaussian", "std")
    if width <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window("gaussian", lambda n, length: np.exp(-(((n - (length - 1) / 2) / width) ** 2) / 2), M, sym, dtype,
                   layout, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """A sum of cosines with the coefficients `a`."""
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _window("general_cosine", formulas.general_cosine, M, sym, dtype, layout, device, requires_grad, tuple(a))


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """``alpha − (1 − alpha) cos``."""
    return _window("general_hamming", formulas.general_cosine, M, sym, dtype, layout, device, requires_grad,
                   (alpha, 1 - alpha))


def hamming(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The Hamming window."""
    return _window("hamming", formulas.general_cosine, M, sym, dtype, layout, device, requires_grad, (0.54, 0.46))


def hann(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The Hann window, a raised cosine."""
    return _window("hann", formulas.general_cosine, M, sym, dtype, layout, device, requires_grad, formulas.HANN)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The Kaiser window of shape `beta`."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", formulas.kaiser, M, sym, dtype, layout, device, requires_grad, beta)


def nuttall(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The Nuttall window, a sum of four cosines."""
    return _window("nuttall", formulas.general_cosine, M, sym, dtype, layout, device, requires_grad, NUTTALL)
