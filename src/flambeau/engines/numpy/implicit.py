"""Implicit derivatives: how a draw changes with the parameters of its distribution.

A draw x is at some quantile, F(x; a) = u. If that is held fixed, dx/da = -(dF/da) / (dF/dx). Each F is its density
times a series or a continued fraction S, so the density cancels, which leaves S, dS/da and digammas. Figurnov, Mohamed
and Mnih (2018) describe the method.
"""

import numpy as np

from ._chunks import special
from .special import digamma_positive

EPS = 2.0**-52
TINY = 1e-300
MOST_TERMS = 20000
NORMAL_FROM = 1e5  # from this shape parameter on, a gamma is treated as a normal with corrections


# ---- series and continued fractions with their derivative


def fraction_and_slope(terms, like):
    """(f, f'/f) of the continued fraction f = 1 + a1 / (b1 + a2 / (b2 + ...)), by Lentz's method.

    `terms` yields (a, a', b, b') of each level.
    """
    f, slope = np.ones_like(like), np.zeros_like(like)
    c, c_slope = np.ones_like(like), np.zeros_like(like)
    d, d_slope = np.zeros_like(like), np.zeros_like(like)
    for _, (a, a_slope, b, b_slope) in zip(range(MOST_TERMS), terms):
        new_c = away_from_zero(b + a / c)
        c_slope = b_slope + (a_slope - a * c_slope / c) / c
        new_d = 1 / away_from_zero(b + a * d)
        d_slope = -(b_slope + a_slope * d + a * d_slope) * new_d * new_d
        c, d = new_c, new_d
        change, change_slope = c * d, c_slope / c + d_slope / d
        f *= change
        slope += change_slope
        moving = (np.abs(change - 1) > 4 * EPS) | (np.abs(change_slope) > 4 * EPS * np.abs(slope))
        if not moving.any():
            break
    return f, slope


def away_from_zero(x):
    return np.where(np.abs(x) < TINY, TINY, x)


# ---- gamma


@special
def standard_gamma_grad(alpha, sample):
    """The derivative of a gamma draw by its shape parameter."""
    out = np.full(sample.shape, np.nan)
    valid = (alpha > 0) & (sample >= 0)
    large = valid & (alpha > NORMAL_FROM)
    low = valid & ~large & (sample <= alpha + 1)
    high = valid & ~large & (sample > alpha + 1)
    for mask, branch in ((large, gamma_grad_of_large), (low, gamma_grad_by_series), (high, gamma_grad_by_fraction)):
        if mask.any():
            out[mask] = branch(alpha[mask], sample[mask])
    return out


def gamma_grad_by_series(a, x):
    """F = x**a exp(-x) / gamma(a + 1) · S with S = sum of x**n / ((a + 1) ... (a + n))."""
    term, harmonic, n = np.ones_like(a), np.zeros_like(a), a.copy()
    total, slope = term.copy(), np.zeros_like(a)
    for _ in range(MOST_TERMS):
        n += 1
        term = term * x / n
        harmonic += 1 / n
        total += term
        slope -= term * harmonic
        if not (term * harmonic > EPS * np.abs(slope)).any():
            break
    return x / a * (total * (digamma_positive(a + 1) - np.log(x)) - slope)


def gamma_grad_by_fraction(a, x):
    """1 - F = x**a exp(-x) / gamma(a) / (b · f), b = x + 1 - a, where b · f is a continued fraction."""

    def levels():
        for i in range(1, MOST_TERMS):
            yield -i * (i - a), float(i), x + 1 - a + 2 * i, -1.0

    b = x + 1 - a
    f, slope = fraction_and_slope(scale_levels(levels(), b), a)
    return x / (b * f) * (np.log(x) - digamma_positive(a) + 1 / b - slope)


def scale_levels(levels, b):
    """The levels of b + K(levels) for 1 + K(...): the first is divided by b, whose derivative is -1."""
    a, a_slope, first, first_slope = next(levels)
    yield a / b, a_slope / b + a / (b * b), first, first_slope
    yield from levels


def gamma_grad_of_large(a, x):
    """The Cornish–Fisher expansion of the quantile: powers of 1 / sqrt(a) with polynomials in a normal quantile z."""
    root = np.sqrt(a)
    w = (x - a) / root
    z = w
    for _ in range(6):
        z = w - ((z * z - 1) / 3 + (z**3 - 7 * z) / (36 * root) - (3 * z**4 + 7 * z * z - 16) / (810 * a)) / root
    return 1 + z / (2 * root) - (z**3 - 7 * z) / (72 * a * root) + (3 * z**4 + 7 * z * z - 16) / (810 * a * a)


# ---- beta and Dirichlet


@special
def dirichlet_grad(x, alpha, total):
    """The derivative of a coordinate of a Dirichlet draw by its parameter, over 1 - x.

    The coordinate has a beta distribution with the parameters alpha and total - alpha.
    """
    beta = total - alpha
    out = np.full(x.shape, np.nan)
    valid = (alpha > 0) & (beta > 0) & (x >= 0) & (x <= 1)
    low = x * (alpha + beta + 2) <= alpha + 1
    for mask, branch in ((valid & low, beta_grad_below), (valid & ~low, beta_grad_above)):
        if mask.any():
            out[mask] = branch(x[mask], alpha[mask], beta[mask])
    return out


def beta_grad_below(x, a, b):
    """F = x**a (1 - x)**b / (a B(a, b) · f), where f is a continued fraction."""
    f, slope = fraction_and_slope(beta_levels(x, a, b, 1.0, 0.0), x)
    return x / (a * f) * (1 / a + digamma_positive(a) - digamma_positive(a + b) - np.log(x) + slope)


def beta_grad_above(x, a, b):
    """1 - F = x**a (1 - x)**b / (b B(a, b) · f), with the parameters in the other order."""
    f, slope = fraction_and_slope(beta_levels(1 - x, b, a, 0.0, 1.0), x)
    return x / (b * f) * (np.log(x) - digamma_positive(a) + digamma_positive(a + b) - slope)


def beta_levels(x, a, b, a_slope, b_slope):
    """The levels of the fraction of the incomplete beta function, with derivatives where a and b have these."""
    for m in range(MOST_TERMS):
        if m:
            low, high = a + 2 * m - 1, a + 2 * m
            level = m * (b - m) * x / (low * high)
            yield level, m * b_slope * x / (low * high) - level * a_slope * (1 / low + 1 / high), 1.0, 0.0
        low, high = a + 2 * m, a + 2 * m + 1
        level = -(a + m) * (a + b + m) * x / (low * high)
        numerator_slope = a_slope / (a + m) + (a_slope + b_slope) / (a + b + m)
        yield level, level * (numerator_slope - a_slope * (1 / low + 1 / high)), 1.0, 0.0
