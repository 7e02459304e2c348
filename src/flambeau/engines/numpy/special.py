"""Error functions, the gamma function and its relatives, on NumPy arrays.

Each is a smooth series (``_series``) times a known factor, on several ranges.
"""

import math

import numpy as np

from . import _series as s
from ._chunks import pieces, series, special

LOG_SQRT_2PI = math.log(2 * math.pi) / 2
EPS = 2.0**-53

# ---- error functions


def scaled_erfc(a):
    """exp(a**2) erfc(a) for a >= 0."""
    return series(s.ERFCX, (a - 4) / (a + 4)) / (1 + 2 * a)


def gauss(a):
    """exp(-a**2). The square is split, since its rounding error would be multiplied by a**2."""
    head = a.astype(np.float32).astype(a.dtype) if a.dtype == np.float64 else np.round(a * 64) / 64
    return np.exp(-head * head) * np.exp((head - a) * (head + a))


@special(narrow=True)
def erf(x):
    a = np.minimum(np.abs(x), 30)
    near = np.minimum(a, 1)
    small = x * series(s.ERF, 2 * near * near - 1)
    return np.where(a <= 1, small, np.copysign(1 - gauss(a) * scaled_erfc(a), x))


@special(narrow=True)
def erfc(x):
    a = np.minimum(np.abs(x), 30)
    near = np.minimum(a, 1)
    tail = gauss(a) * scaled_erfc(a)
    far = np.where(x < 0, 2 - tail, tail)
    return np.where((x < 0.5) & (a <= 1), 1 - x * series(s.ERF, 2 * near * near - 1), far)


@special
def erfcx(x):
    a = np.abs(x)
    scaled = np.where(a > 1e9, 1 / (a * math.sqrt(math.pi)), scaled_erfc(np.minimum(a, 1e9)))
    return np.where(x < 0, 2 / gauss(np.minimum(a, 30)) - scaled, scaled)


def inverse_erf(x, complement):
    """erfinv(x), given 1 - x**2 too."""
    w = -np.log(complement)
    root = np.sqrt(w)
    ratio = pieces(
        w,
        (w <= 5, lambda w: series(s.ERFINV_A, w / 2.5 - 1)),
        ((w > 5) & (w <= 16), lambda w: series(s.ERFINV_B, between(np.sqrt(w), math.sqrt(5), 4))),
        ((w > 16) & (w <= 81), lambda w: series(s.ERFINV_C, between(np.sqrt(w), 4, 9))),
        ((w > 81) & (w < np.inf), lambda w: series(s.ERFINV_D, between(np.sqrt(w), 9, 28))),
    )
    return np.where(root == np.inf, np.copysign(np.inf, x), x * ratio)


def between(x, low, high):
    """x in [low, high] mapped to [-1, 1]."""
    return (2 * x - (low + high)) / (high - low)


@special
def erfinv(x):
    return inverse_erf(x, (1 - x) * (1 + x))


@special
def ndtri(p):
    """The inverse of the normal distribution function."""
    q = 2 * np.minimum(p, 1 - p)
    tail = inverse_erf(1 - q, q * (2 - q)) * math.sqrt(2)
    return np.where((p < 0) | (p > 1), np.nan, np.where(p >= 0.5, tail, -tail))


@special
def log_ndtr(x):
    """The logarithm of the normal distribution function."""
    h = x * math.sqrt(0.5)
    low = np.log(scaled_erfc(np.minimum(np.maximum(-h, 0), 1e9)) / 2) - h * h
    return np.where(x < -1, low, np.log1p(-erfc(np.maximum(h, -1)) / 2))


# ---- the gamma function


def sin_pi(x):
    """sin(pi x), exact in the zeros."""
    near = np.round(x)
    sign = np.where(np.remainder(near, 2) == 0, 1.0, -1.0)
    return sign * np.sin(math.pi * (x - near))


def stirling_rest(x):
    """The remainder of Stirling's formula for log(gamma(x)), x >= 8."""
    return series(s.STIRLING, 2 * (8 / x) ** 2 - 1) / x


def lgamma_above_8(x):
    return (x - 0.5) * np.log(x) - x + LOG_SQRT_2PI + stirling_rest(x)


def lgamma_below_8(x):
    """log(gamma(x)) for 0 < x < 8: shifted to [1, 2], where the zeros are factored out."""
    y, product = x.copy(), np.ones_like(x)
    for _ in range(6):
        above = y > 2
        y = np.where(above, y - 1, y)
        product = np.where(above, product * y, product)
    divisor = np.minimum(y, 1)
    y = np.where(y < 1, y + 1, y)
    return np.log(product) - np.log(divisor) + (y - 1) * (y - 2) * series(s.LGAMMA, 2 * y - 3)


def lgamma_positive(x):
    return pieces(x, (x < 8, lgamma_below_8), (x >= 8, lgamma_above_8))


def lgamma_negative(x):
    return math.log(math.pi) - np.log(np.abs(sin_pi(x))) - lgamma_positive(1 - x)


@special
def lgamma(x):
    regular = np.abs(x) < 1e305
    out = pieces(x, (regular & (x > 0), lgamma_positive), (regular & (x <= 0), lgamma_negative), other=np.inf)
    return np.where(np.isnan(x), x, out)


def digamma_positive(x):
    rest, y = np.zeros_like(x), x.copy()
    for _ in range(8):
        below = y < 8
        rest = np.where(below, rest - 1 / y, rest)
        y = np.where(below, y + 1, y)
    square = 1 / (y * y)
    return rest + np.log(y) - 0.5 / y - square * series(s.DIGAMMA, 128 * square - 1)


def digamma_negative(x):
    turn = math.pi * (x - np.round(x))
    return digamma_positive(1 - x) - math.pi / np.tan(turn)


@special
def digamma(x):
    pole = (x < 0) & (x == np.floor(x))
    out = pieces(x, ((x > 0) & (x < np.inf), digamma_positive), ((x < 0) & ~pole, digamma_negative))
    out[x == np.inf] = np.inf
    zero = x == 0
    out[zero] = np.copysign(np.inf, -x[zero])
    return out


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def hurwitz(exponent, q):
    """The sum of (q + n) ** -exponent; beyond n = 10 by the Euler-Maclaurin formula."""
    steps = 10 if q.size == 0 else int(min(max(10, 10 - q.min()), 1e5))
    total = np.zeros_like(q)
    for n in range(steps):
        total += (q + n) ** -exponent
    far = q + steps
    power = far**-exponent
    total += far * power / (exponent - 1) + power / 2
    factor, power = exponent, power / far
    for i, bernoulli in enumerate(BERNOULLI):
        total += bernoulli * factor * power / math.factorial(2 * i + 2)
        factor = factor * (exponent + 2 * i + 1) * (exponent + 2 * i + 2)
        power = power / (far * far)
    return total


@special
def zeta(x, q):
    """The Hurwitz zeta function."""
    whole = q == np.floor(q)
    out = np.full(x.shape, np.nan)
    regular = (x > 1) & (x < np.inf) & np.isfinite(q) & ((q > 0) | ~whole & (x == np.floor(x)))
    if regular.any():
        out[regular] = hurwitz(x[regular], q[regular])
    out[(x == 1) | ~(x < 1) & (q <= 0) & whole] = np.inf  # also for NaN, as in PyTorch
    out[(x > 1) & (q == np.inf)] = 0
    return out


# ---- the incomplete gamma functions


def gamma_density(a, x):
    """x**a exp(-x) / gamma(a); for large a expanded around its peak, where the factors alone would cancel."""
    d = (x - a) / a
    big = a >= 8
    safe = np.where(big, a, 8.0)
    around = np.sqrt(safe / (2 * math.pi)) * np.exp(safe * (np.log1p(d) - d) - stirling_rest(safe))
    plain = np.exp(a * np.log(x) - x - lgamma_positive(a))
    return np.where(big, around, plain)


def gamma_series(a, x):
    """The lower function over gamma_density(a, x), for x up to about a."""
    term = 1 / a
    total, n = term.copy(), a.copy()
    for _ in range(20000):
        n += 1
        term = term * x / n
        total += term
        if not (term > EPS * total).any():
            break
    return total


def gamma_fraction(a, x):
    """The upper function over gamma_density(a, x), for x above a: a continued fraction, by Lentz's method."""
    tiny = 1e-300
    b = x + 1 - a
    c = np.full_like(x, 1 / tiny)
    d = 1 / np.where(b == 0, tiny, b)
    h = d.copy()
    for i in range(1, 20000):
        step = -i * (i - a)
        b = b + 2
        d = step * d + b
        c = b + step / c
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = np.where(np.abs(c) < tiny, tiny, c)
        change = d * c
        h *= change
        if not (np.abs(change - 1) > EPS * 4).any():
            break
    return h


def incomplete(a, x, upper):
    """The regularised lower (or upper) incomplete gamma function."""
    whole, nothing = (0.0, 1.0) if upper else (1.0, 0.0)
    out = np.full(x.shape, np.nan)
    low = (x > 0) & (a > 0) & (x <= np.maximum(a, 1)) & np.isfinite(a)
    high = (x > 0) & (a > 0) & (x > np.maximum(a, 1)) & np.isfinite(x)
    for mask, part, own in ((low, gamma_series, False), (high, gamma_fraction, True)):
        if mask.any():
            value = gamma_density(a[mask], x[mask]) * part(a[mask], x[mask])
            out[mask] = value if own is upper else 1 - value
    out[(x == 0) & (a > 0) | (a == np.inf) & (x >= 0) & (x < np.inf)] = nothing
    out[(a == 0) & (x > 0) | (x == np.inf) & (a >= 0) & (a < np.inf)] = whole
    return out


@special
def igamma(a, x):
    return incomplete(a, x, upper=False)


@special
def igammac(a, x):
    return incomplete(a, x, upper=True)
