"""Prints the polynomials in csrc/loops/functions.h.

Each interpolates its function at Chebyshev's nodes, computed with 50 digits; the error, which is printed too, is close
to the smallest possible for the degree.

    pip install mpmath && python tools/kernel_polynomials.py
"""

from __future__ import annotations

import mpmath as mp

mp.mp.dps = 50

HALF_LOG_2 = mp.log(2) / 2 * mp.mpf("1.001")  # a little more, as the reduced argument is rounded


def exp_remainder(r):
    """(exp(r) - 1 - r) / r**2."""
    return (mp.exp(r) - 1 - r) / r**2 if abs(r) > mp.mpf("1e-15") else mp.mpf(1) / 2


def erf_ratio(square):
    """erf(x) / x as a function of x**2."""
    x = mp.sqrt(square)
    return mp.erf(x) / x if x > mp.mpf("1e-15") else 2 / mp.sqrt(mp.pi)


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
    "erf near 0, float": (erf_ratio, 0, 1, 6),
    "-log(1 - erf) far from 0, float": (minus_log_erfc, "0.95", "4.05", 8),
    "tail of the normal distribution, float": (normal_tail, 1 / (1 + NORMAL_SLOPE * mp.mpf("13.5")), 1, 8),
}


def interpolated(function, low, high, degree):
    """The coefficients, of the lowest power first, and the largest relative error."""
    low, high = mp.mpf(low), mp.mpf(high)
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * degree + 2)) for i in range(degree + 1)]
    points = [(low + high) / 2 + (high - low) / 2 * t for t in nodes]
    powers = mp.matrix([[x**j for j in range(degree + 1)] for x in points])
    coefficients = list(mp.lu_solve(powers, mp.matrix([function(x) for x in points])))
    tried = [low + (high - low) * i / 500 for i in range(501)]
    errors = [abs(mp.polyval(coefficients[::-1], x) / function(x) - 1) for x in tried]
    return coefficients, max(errors)


if __name__ == "__main__":
    for name, arguments in POLYNOMIALS.items():
        coefficients, error = interpolated(*arguments)
        print(f"{name} (error {mp.nstr(error, 2)})")
        for c in coefficients:
            print(f"    {mp.nstr(c, 11 if 'float' in name else 18)}")
