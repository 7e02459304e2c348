"""Distributions sampled by rejection, one element after the other.

The number of uniforms per element is only known once it is accepted, so the stream cannot be split in advance. These
samplers therefore run in plain Python; the algorithms are the published ones that PyTorch uses.
"""

import functools
import math

import numpy as np

from .random_tools import FLOATS, Units, check, draw, normal_source, require, store

__all__ = ["poisson", "binomial", "standard_gamma", "dirichlet"]

_SINGLE_OR_DOUBLE = (np.dtype(np.float32), np.dtype(np.float64))


@draw
def poisson(generator, rate):
    """Poisson counts, one for each rate, in the type of the rates."""
    require(rate, FLOATS, "poisson_cpu")
    check((rate >= 0).all(), "invalid Poisson rate, expected rate to be non-negative")
    rates = rate.astype(np.float64).ravel().tolist()
    with Units(generator, 4 * len(rates)) as units:
        counts = [_poisson(units.next, r) for r in rates]
    out = np.empty(rate.shape, rate.dtype)
    store(out, np.array(counts, np.float64).reshape(rate.shape))
    return out


def _poisson(uniform, rate):
    if rate >= 10:
        return _poisson_by_rejection(uniform, rate)
    # The number of uniforms whose product stays above exp(-rate).
    count, product, limit = 0, 1.0, math.exp(-rate)
    if rate == 0:
        return count
    while True:
        product *= uniform()
        if product <= limit:
            return count
        count += 1


def _poisson_by_rejection(uniform, rate):
    """Hörmann's transformed rejection with squeeze, PTRS (1993)."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    safe = 0.9277 - 3.6224 / (b - 2)
    log_rate = math.log(rate)
    while True:
        u = uniform() - 0.5
        v = uniform()
        inside = 0.5 - abs(u)
        k = math.floor((2 * a / inside + b) * u + rate + 0.43) if inside > 0 else -1
        if inside >= 0.07 and v <= safe:
            return k
        if k < 0 or (inside < 0.013 and v > inside):
            continue
        height = _log(v) + math.log(inverse_alpha) - math.log(a / (inside * inside) + b)
        if height <= k * log_rate - rate - math.lgamma(k + 1):
            return k


def _log(x):
    return math.log(x) if x > 0 else -math.inf


@draw
def standard_gamma(generator, alpha):
    """Gamma numbers of unit scale, one for each shape parameter, never below the smallest normal number."""
    require(alpha, _SINGLE_OR_DOUBLE, "gamma_cpu")
    number, tiny = alpha.dtype.type, np.finfo(alpha.dtype).tiny
    shapes = alpha.ravel()
    with Units(generator, 4 * shapes.size) as units:
        sample = functools.partial(_gamma, units.next, normal_source(generator, units.next))
        drawn = [sample(*parameters) for parameters in zip(*_gamma_parameters(shapes, number))]
    drawn = np.array(drawn, np.float64).astype(alpha.dtype).reshape(alpha.shape)
    return np.where(drawn > tiny, drawn, tiny)


def _gamma_parameters(shapes, number):
    """For each element the shape, the exponent for shapes below one (else 0), and the method's d and c."""
    small = shapes < 1
    exponent = np.where(small, number(1) / shapes, number(0))
    # PyTorch subtracts a single-precision third, also from doubles.
    d = (shapes + small.astype(number) - number(np.float32(1 / 3))).astype(np.float64)
    c = 1 / np.sqrt(9 * d)
    return shapes.tolist(), exponent.tolist(), d.tolist(), c.tolist()


def _gamma(uniform, normal, shape, exponent, d, c):
    """Marsaglia and Tsang (2000)."""
    if not shape > 0:
        return 0.0
    scale = math.pow(1 - uniform(), exponent) if exponent else 1.0
    while True:
        x = normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - uniform()
        squared = x * x
        if u < 1 - 0.0331 * squared * squared or _log(u) < 0.5 * squared + d * (1 - v + _log(v)):
            return scale * d * v


@draw
def dirichlet(generator, alpha):
    """Points on the simplex: gammas divided by their sum over the last dimension, kept off its boundary."""
    require(alpha, _SINGLE_OR_DOUBLE, "dirichlet")
    gammas = standard_gamma(generator, alpha.astype(np.float64))
    shares = (gammas / gammas.sum(-1, keepdims=True)).astype(alpha.dtype)
    limits = np.finfo(alpha.dtype)
    return np.clip(shares, limits.tiny, 1 - limits.epsneg)


@draw
def binomial(generator, count, prob):
    """How many of ``count`` trials succeed, each with probability ``prob``."""
    check(count.dtype == prob.dtype, "Found dtype {} but expected {}", prob.dtype.name, count.dtype.name)
    require(count, _SINGLE_OR_DOUBLE, "binomial_cpu")
    count, prob = np.broadcast_arrays(count, prob)
    # Count successes or failures, whichever are rarer.
    rarer = np.minimum(prob, 1 - prob)
    # Only the mean is rounded to the arrays' type; the rest is double.
    parameters = (x.ravel().tolist() for x in (count, rarer, count * rarer))
    with Units(generator, 4 * count.size) as units:
        hits = [_binomial(units.next, n, p, mean) for n, p, mean in zip(*parameters)]
    hits = np.array(hits, count.dtype).reshape(count.shape)
    hits = np.where(prob > 0.5, count - hits, hits)
    return np.where(count <= 0, count.dtype.type(0), hits)


def _binomial(uniform, n, p, mean):
    if math.isnan(mean):
        return mean
    if n <= 0 or p <= 0:
        return 0
    if mean >= 10:
        return _binomial_by_rejection(uniform, n, p, mean)
    # The gaps between successes are geometric: they are added up until the sum exceeds n.
    hits, trials, log_miss = 0, 0, math.log1p(-p)
    while True:
        trials += math.ceil(max(_log(uniform()), -1e300) / log_miss)
        if trials > n:
            return hits
        hits += 1


def _binomial_by_rejection(uniform, n, p, mean):
    """Hörmann's transformed rejection with squeeze, BTRS (1993)."""
    odds = p / (1 - p)
    mode = math.floor((n + 1) * p)
    deviation = math.sqrt(mean * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    safe = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    while True:
        u = uniform() - 0.5
        v = uniform()
        inside = 0.5 - abs(u)
        k = math.floor((2 * a / inside + b) * u + (mean + 0.5)) if inside > 0 else -1
        if k < 0 or k > n:
            continue
        if inside >= 0.07 and v <= safe:
            return k
        if _log(v * alpha / (a / (inside * inside) + b)) <= _log_ratio(n, odds, mode, k):
            return k


def _log_ratio(n, odds, mode, k):
    """The logarithm of the probability of ``k``, relative to that of the most probable count."""
    return (
        (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
        + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
        + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
        + _stirling_tail(mode)
        + _stirling_tail(n - mode)
        - _stirling_tail(k)
        - _stirling_tail(n - k)
    )


# The remainder of Stirling's formula for log(k!), for k up to 9.
_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k):
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    squared = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / squared) / squared) / (k + 1)
