"""Box–Muller in float32, rounded exactly as PyTorch's vector code rounds it: the reference for fast kernels.

PyTorch evaluates Cephes' polynomials with fused multiply-adds. A product of two float32 numbers is
exact in float64, so ``float32(float64(a) * b + c)`` is the fused operation, and every step below that
goes through float64 stands for one of them. Plain float32 arithmetic appears where PyTorch rounds
in between, or where the product is exact anyway.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["box_muller"]

_F = np.float32
_TWO_PI = _F(2 * math.pi)

_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)
_LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)

# π/4 in three parts, the first two short enough that a small multiple of them is exact.
_QUARTER_PI = _F(0.78515625), _F(2.4187564849853515625e-4), _F(3.77489497744594108e-8)
_FOUR_OVER_PI = _F(4 / math.pi)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)


def box_muller(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of normals from two arrays of float32 uniforms in [0, 1)."""
    radius = _log(_F(1) - first)
    radius *= _F(-2)
    np.sqrt(radius, out=radius)
    sine, cosine = _sincos(second * _TWO_PI)
    cosine *= radius
    sine *= radius
    return cosine, sine


def _fma(a, b, c):
    wide = np.multiply(a, b, dtype=np.float64)
    wide += c
    return wide.astype(_F)


def _horner(coefficients, x):
    first, second, *rest = map(_F, coefficients)
    x = x.astype(np.float64)
    wide = x * float(first)
    wide += float(second)
    y = wide.astype(_F)
    for c in rest:
        wide[...] = y
        wide *= x
        wide += float(c)
        y[...] = wide
    return y


def _log(x):
    """Natural logarithm of float32 numbers in (0, 1]."""
    bits = x.view(np.int32)
    exponent = (bits - _SQRT_HALF_BITS) >> 23
    m = (bits - (exponent << 23)).view(_F)  # in [√½, √2)
    m -= _F(1)
    exponent = exponent.astype(_F)
    square = m * m
    y = _horner(_LOG, m)
    y *= m
    y = _fma(y, square, exponent * _LN2_LOW)
    square *= _F(0.5)
    y -= square
    m += y
    exponent *= _LN2_HIGH
    m += exponent
    return m


def _sincos(x):
    """Sine and cosine of float32 numbers in [0, 2π]."""
    octant = (x * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= -2
    turns = octant.astype(_F)
    high, middle, low = _QUARTER_PI
    x = x - turns * high
    x -= turns * middle
    x = _fma(turns, -low, x)

    square = x * x
    sine = _horner(_SIN, square)
    sine *= square
    sine = _fma(sine, x, x)
    cosine = _horner(_COS, square)
    cosine *= square
    cosine = _fma(cosine, square, square * _F(-0.5))
    cosine += _F(1)
    return _into_quadrant(octant, sine, cosine)


def _into_quadrant(octant, sine, cosine):
    """Swaps and negates, on the bits, what the quadrant asks for."""
    s, c = sine.view(np.int32), cosine.view(np.int32)
    swap = -((octant >> 1) & 1)
    swap &= s ^ c
    s ^= swap
    c ^= swap
    s ^= (octant & 4) << 29
    c ^= ((octant + 2) & 4) << 29
    return sine, cosine
