"""Prints the polynomials in csrc/loops/functions.h.

Each interpolates its function at Chebyshev nodes, computed with 50 digits; the error, which is also printed, is close
to the minimum for the degree. A quotient of two is an iteratively reweighted least-squares fit.

    pip install mpmath numpy && python tools/kernel_polynomials.py
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 50

HALF_LOG_2 = mp.log(2) / 2 * mp.mpf("1.001")  # a little more, as the reduced argument is rounded


def exp_remainder(r):
    """(exp(r) - 1 - r) / r**2."""
    return (mp.exp(r) - 1 - r) / r**2 if abs(r) > mp.mpf("1e-15") else mp.mpf(1) / 2


def erf_ratio(square):
    """erf(x) / x as a function of x**2."""
    x = mp.sqrt(square)
    return mp.erf(x) / x if x > mp.mpf("1e-15") else 2 / mp.sqrt(mp.pi)


def tanh_remainder(square):
    """(tanh(x) - x) / x**3 as a function of x**2."""
    x = mp.sqrt(square)
    return (mp.tanh(x) - x) / x**3 if x > mp.mpf("1e-15") else -mp.mpf(1) / 3


def minus_log_erfc(x):
    return -mp.log(mp.erfc(x))


NORMAL_SLOPE = mp.mpf("0.23")  # gives the smallest error


def normal_tail(t):
    """exp(x**2 / 2) times the probability that a normal number is above x, as a function of t = 1 / (1 + slope x)."""
    x = (1 / t - 1) / NORMAL_SLOPE
    return mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2)) / 2


POLYNOMIALS = {
    "exp, float": (exp_remainder, -HALF_LOG_2, HALF_LOG_2, 5),
    "exp, double": (exp_remainder, -HALF_LOG_2, HALF_LOG_2, 10),
    "(tanh(x) - x) / x**3 near 0, float": (tanh_remainder, 0, 1, 6),
    "erf near 0, float": (erf_ratio, 0, 1, 6),
    "-log(1 - erf) far from 0, float": (minus_log_erfc, "0.95", "4.05", 8),
    "tail of the normal distribution, float": (normal_tail, 1 / (1 + NORMAL_SLOPE * mp.mpf("13.5")), 1, 8),
}


def interpolated(function, low, high, degree):
    """The coefficients, lowest power first, and the largest relative error."""
    low, high = mp.mpf(low), mp.mpf(high)
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * degree + 2)) for i in range(degree + 1)]
    points = [(low + high) / 2 + (high - low) / 2 * t for t in nodes]
    powers = mp.matrix([[x**j for j in range(degree + 1)] for x in points])
    coefficients = list(mp.lu_solve(powers, mp.matrix([function(x) for x in points])))
    tried = [low + (high - low) * i / 500 for i in range(501)]
    errors = [abs(mp.polyval(coefficients[::-1], x) / function(x) - 1) for x in tried]
    return coefficients, max(errors)


def normal_balance(above=6, below=5, top=5.3, points=1200, rounds=150):
    """p and q, with erf(x / sqrt(2)) = x p(x**2) / q(x**2) up to `top`, and the largest relative error."""
    x = top * np.sin(np.linspace(0, np.pi / 2, points)) + 1e-6
    right = np.array([float(mp.erf(v / mp.sqrt(2)) / v) for v in x.tolist()])
    powers = np.vander((x / top) ** 2, max(above, below) + 1, increasing=True)
    columns = np.hstack([powers[:, : above + 1], -right[:, None] * powers[:, 1 : below + 1]])
    weights, divisor, best = np.ones(points), np.ones(points), (np.inf,)
    for _ in range(rounds):
        scale = np.sqrt(weights) / (right * divisor)
        found = np.linalg.lstsq(columns * scale[:, None], right * scale, rcond=None)[0]
        p, q = found[: above + 1], np.append(1, found[above + 1 :])
        divisor = powers[:, : below + 1] @ q
        errors = abs(powers[:, : above + 1] @ p / divisor / right - 1)
        best = min(best, (errors.max(), p, q), key=lambda found: found[0])
        weights *= (errors / errors.max() + 1e-3) ** 0.7
        weights /= weights.max()
    error, p, q = best
    return p / top ** (2 * np.arange(above + 1)), q / top ** (2 * np.arange(below + 1)), error


if __name__ == "__main__":
    *both, error = normal_balance()
    print(f"erf(x / sqrt(2)) / x by x**2, float (error {error:.2g})", *both, sep="\n    ")
    for name, arguments in POLYNOMIALS.items():
        coefficients, error = interpolated(*arguments)
        print(f"{name} (error {mp.nstr(error, 2)})")
        for c in coefficients:
            print(f"    {mp.nstr(c, 11 if 'float' in name else 18)}")
