"""Bessel and Airy functions and orthogonal polynomials, on NumPy arrays."""

import math

import numpy as np

from . import _series as s
from ._chunks import pieces, series, special

# ---- modified functions I and K


def scaled_i(order, a):
    """exp(-a) I(a) for a >= 0."""
    low, high = (s.I0_LOW, s.I0_HIGH) if order == 0 else (s.I1_LOW, s.I1_HIGH)
    near = np.minimum(a, 8)
    small = series(low, near / 4 - 1)
    far = np.maximum(a, 8)
    return np.where(a <= 8, small if order == 0 else small * near, series(high, 16 / far - 1) / np.sqrt(far))


def with_sign_of(value, x):
    """Extends a function of |x| to an odd one; its zero has no sign, as in PyTorch."""
    return np.where(x < 0, -value, value)


@special
def i0e(x):
    return scaled_i(0, np.abs(x))


@special
def i1e(x):
    return with_sign_of(scaled_i(1, np.abs(x)), x)


@special
def i0(x):
    a = np.abs(x)
    half = np.exp(a / 2)  # in two steps, which overflow no earlier than the result
    return scaled_i(0, a) * half * half


@special
def i1(x):
    a = np.abs(x)
    half = np.exp(a / 2)
    return with_sign_of(scaled_i(1, a) * half * half, x)


def scaled_k(order, x):
    """exp(x) K(x)."""
    near, far = np.minimum(x, 2), np.maximum(x, 2)
    tame = np.exp(near) * scaled_i(order, np.maximum(near, 0))
    t = near * near / 2 - 1
    if order == 0:
        small = series(s.K0_LOW, t) - np.log(near / 2) * tame
    else:
        small = np.log(near / 2) * tame + series(s.K1_LOW, t) / near
    large = series(s.K0_HIGH if order == 0 else s.K1_HIGH, 4 / far - 1) / np.sqrt(far)
    out = np.where(x <= 2, np.exp(near) * small, large)
    return np.where(x == 0, np.inf, np.where(x < 0, np.nan, out))


@special
def scaled_modified_bessel_k0(x):
    return scaled_k(0, x)


@special
def scaled_modified_bessel_k1(x):
    return scaled_k(1, x)


@special
def modified_bessel_k0(x):
    return scaled_k(0, x) * np.exp(-x)


@special
def modified_bessel_k1(x):
    return scaled_k(1, x) * np.exp(-x)


# ---- J and Y


def oscillation(order, a, function):
    """J or Y (cos or sin) for a >= 8, from the slowly varying parts P and Q."""
    t = 2 * (8 / a) ** 2 - 1
    p, q = series(s.P0 if order == 0 else s.P1, t), series(s.Q0 if order == 0 else s.Q1, t) / a
    phase = a - (0.25 if order == 0 else 0.75) * math.pi
    cos, sin = np.cos(phase), np.sin(phase)
    return np.sqrt(2 / (math.pi * a)) * (p * cos - q * sin if function == "J" else p * sin + q * cos)


def bessel_j(order, a):
    small = series(s.J0_LOW if order == 0 else s.J1_LOW, np.minimum(a, 8) ** 2 / 32 - 1)
    return np.where(a <= 8, small if order == 0 else small * a, oscillation(order, np.maximum(a, 8), "J"))


def bessel_y(order, x):
    near = np.minimum(x, 8)
    rest = series(s.Y0_LOW if order == 0 else s.Y1_LOW, near**2 / 32 - 1)
    logs = 2 / math.pi * np.log(near) * bessel_j(order, near)
    small = rest + logs if order == 0 else rest * near + logs - 2 / (math.pi * near)
    out = np.where(x <= 8, small, oscillation(order, np.maximum(x, 8), "Y"))
    return np.where(x == 0, -np.inf, np.where(x < 0, np.nan, out))


@special
def bessel_j0(x):
    return bessel_j(0, np.abs(x))


@special
def bessel_j1(x):
    return np.copysign(1, x) * bessel_j(1, np.abs(x))


@special
def bessel_y0(x):
    return bessel_y(0, x)


@special
def bessel_y1(x):
    return bessel_y(1, x)


@special
def spherical_bessel_j0(x):
    tiny = np.abs(x) < 1e-5
    quotient = np.sin(x) / np.where(tiny, 1.0, x)
    return np.where(np.isinf(x), 0.0, np.where(tiny, 1 - x * x / 6, quotient))


# ---- Airy's function


def airy_waves(x):
    zeta = 2 / 3 * (-x) ** 1.5
    t = 2 * (16 / 3 / zeta) ** 2 - 1
    p, q = series(s.AIRY_P, t), series(s.AIRY_Q, t) / zeta
    phase = zeta + math.pi / 4
    return (np.sin(phase) * p - np.cos(phase) * q) / (math.sqrt(math.pi) * (-x) ** 0.25)


def airy_tail(x):
    zeta = 2 / 3 * x**1.5
    edge = 2 / 3 * 2**1.5
    return series(s.AIRY_DECAY, 2 * edge / zeta - 1) * np.exp(-zeta) / (2 * math.sqrt(math.pi) * x**0.25)


@special
def airy_ai(x):
    finite = np.isfinite(x)
    return pieces(
        x, (finite & (x < -4), airy_waves), ((x >= -4) & (x <= 2), lambda x: series(s.AIRY, (x + 1) / 3)),
        (finite & (x > 2), airy_tail),
    )


# ---- orthogonal polynomials: (second, recurrence), with the first 1 and p(k + 1) from p(k), p(k - 1)

POLYNOMIALS = {
    "chebyshev_polynomial_t": (lambda x: x, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_polynomial_u": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, lambda k, x, p, q: 2 * x * p - q),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, lambda k, x, p, q: 2 * x * p - q),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, p, q: x * p - k * q),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}


def polynomial(second, recurrence, shifted):
    """The kernel (x, n) -> p_n(x), by recurrence; zero for negative n. Shifted polynomials are defined on [0, 1]."""

    def kernel(x, n):
        n = np.trunc(n)
        z = 2 * x - 1 if shifted else x
        previous, current = np.ones_like(z), second(z) + 0 * z
        out = np.where(n == 0, previous, np.where(n == 1, current, 0.0))
        for k in range(1, int(n.max()) if n.size else 0):
            previous, current = current, recurrence(k, z, current, previous)
            out = np.where(n == k + 1, current, out)
        return out

    return kernel


for _name, (_second, _recurrence) in POLYNOMIALS.items():
    for _prefix in ("", "shifted_") if _name.startswith("chebyshev") else ("",):
        _kernel = polynomial(_second, _recurrence, bool(_prefix))
        _kernel.__name__ = _prefix + _name
        special(_kernel)
