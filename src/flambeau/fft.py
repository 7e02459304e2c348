"""Discrete Fourier transforms of one or more dimensions, and their helpers."""

from .functions.fft import *
from .functions.fft import __all__ as __all__
