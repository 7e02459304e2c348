"""Writes src/flambeau/engines/numpy/_series.py: the Chebyshev series behind the special functions.

Each line of SERIES is a smooth function of t in [-1, 1]: a special function with its growth, poles, logarithms and
zeros factored out, and its range mapped. The series is computed with 40 digits and truncated at float64 precision.

    pip install mpmath && python tools/special_series.py
"""

import pathlib

import mpmath as mp

mp.mp.dps = 40
NODES = 80
TARGET = pathlib.Path(__file__).parent.parent / "src/flambeau/engines/numpy/_series.py"


def linear(low, high):
    """t in [-1, 1] -> [low, high]."""
    low, high = mp.mpf(low), mp.mpf(high)
    return lambda t: low + (t + 1) * (high - low) / 2


def erfinv_ratio(w):
    """erfinv(x) / x as a function of w = -log(1 - x**2)."""
    complement = mp.exp(-w)
    x = mp.sqrt(1 - complement)
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    q = complement / (1 + x)  # 1 - x, without cancellation
    guess = mp.sqrt(w) if w > 2 else x
    y = mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(q), guess)
    return y / x


def hankel(nu, x):
    """The slowly varying parts P + iQ of J + iY: (P + iQ) exp(i chi) sqrt(2 / (pi x))."""
    chi = x - mp.pi / 4 - nu * mp.pi / 2
    return (mp.besselj(nu, x) + 1j * mp.bessely(nu, x)) * mp.sqrt(mp.pi * x / 2) * mp.exp(-1j * chi)


def airy_parts(zeta):
    """The slowly varying parts P + iQ of Airy's functions at -(3/2 zeta)**(2/3)."""
    z = (3 * zeta / 2) ** (mp.mpf(2) / 3)
    scale, phase = mp.sqrt(mp.pi) * z ** mp.mpf(0.25), zeta + mp.pi / 4
    sin, cos, ai, bi = mp.sin(phase), mp.cos(phase), mp.airyai(-z), mp.airybi(-z)
    return scale * (sin * ai + cos * bi), scale * (sin * bi - cos * ai)


def airy_decay(zeta):
    """Ai(x) without its decay, for x = (3/2 zeta)**(2/3)."""
    x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * x ** mp.mpf(0.25) * mp.exp(zeta)


def stirling(x):
    return mp.loggamma(x) - (x - mp.mpf(0.5)) * mp.log(x) + x - mp.log(2 * mp.pi) / 2


def of_square(high, function):
    """A series in x**2 for |x| <= high."""
    to = linear(0, high * high)
    return lambda t: function(mp.sqrt(to(t)))


def of_inverse(low, function):
    """A series in 1 / x for x >= low."""
    return lambda t: function(2 * mp.mpf(low) / (t + 1))


def of_inverse_square(low, function):
    """A series in 1 / x**2 for x >= low."""
    return lambda t: function(mp.mpf(low) / mp.sqrt((t + 1) / 2))


AIRY_LOW, AIRY_HIGH = 2 * mp.mpf(4) ** 1.5 / 3, 2 * mp.mpf(2) ** 1.5 / 3

SERIES = {
    # erf(x) / x, |x| <= 1
    "ERF": of_square(1, lambda x: mp.erf(x) / x),
    # (1 + 2 x) exp(x**2) erfc(x), x >= 0, t = (x - 4) / (x + 4)
    "ERFCX": lambda t: (lambda x: (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x))(4 * (1 + t) / (1 - t)),
    # erfinv(x) / x, w = -log(1 - x**2) in [0, 5], then sqrt(w) in [sqrt(5), 4], [4, 9], [9, 28]
    "ERFINV_A": lambda t: erfinv_ratio(linear(0, 5)(t)),
    "ERFINV_B": lambda t: erfinv_ratio(linear(mp.sqrt(5), 4)(t) ** 2),
    "ERFINV_C": lambda t: erfinv_ratio(linear(4, 9)(t) ** 2),
    "ERFINV_D": lambda t: erfinv_ratio(linear(9, 28)(t) ** 2),
    # log(gamma(x)) / ((x - 1) (x - 2)), 1 <= x <= 2
    "LGAMMA": lambda t: (lambda x: mp.loggamma(x) / ((x - 1) * (x - 2)))(linear(1, 2)(t + mp.mpf(10) ** -30)),
    # x times the error of Stirling's formula for log(gamma(x)), x >= 8
    "STIRLING": of_inverse_square(8, lambda x: x * stirling(x)),
    # x**2 (log(x) - 1 / (2 x) - psi(x)), x >= 8
    "DIGAMMA": of_inverse_square(8, lambda x: x * x * (mp.log(x) - 1 / (2 * x) - mp.psi(0, x))),
    # exp(-x) I0(x) and exp(-x) I1(x) / x for 0 <= x <= 8; sqrt(x) exp(-x) I(x) for x >= 8
    "I0_LOW": lambda t: (lambda x: mp.exp(-x) * mp.besseli(0, x))(linear(0, 8)(t)),
    "I1_LOW": lambda t: (lambda x: mp.exp(-x) * mp.besseli(1, x) / x)(linear(0, 8)(t)),
    "I0_HIGH": of_inverse(8, lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(0, x)),
    "I1_HIGH": of_inverse(8, lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(1, x)),
    # K0(x) + log(x / 2) I0(x) and x (K1(x) - log(x / 2) I1(x)), x <= 2; sqrt(x) exp(x) K(x), x >= 2
    "K0_LOW": of_square(2, lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)),
    "K1_LOW": of_square(2, lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))),
    "K0_HIGH": of_inverse(2, lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(0, x)),
    "K1_HIGH": of_inverse(2, lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(1, x)),
    # J0(x), J1(x) / x, Y0(x) and Y1(x) / x without their logarithms and poles, x <= 8
    "J0_LOW": of_square(8, lambda x: mp.besselj(0, x)),
    "J1_LOW": of_square(8, lambda x: mp.besselj(1, x) / x),
    "Y0_LOW": of_square(8, lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)),
    "Y1_LOW": of_square(
        8, lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x,
    ),
    # the slowly varying parts P and x Q of the oscillation, x >= 8
    "P0": of_inverse_square(8, lambda x: hankel(0, x).real),
    "Q0": of_inverse_square(8, lambda x: x * hankel(0, x).imag),
    "P1": of_inverse_square(8, lambda x: hankel(1, x).real),
    "Q1": of_inverse_square(8, lambda x: x * hankel(1, x).imag),
    # Ai(x) for -4 <= x <= 2, and with zeta = 2/3 |x|**1.5 beyond
    "AIRY": lambda t: mp.airyai(linear(-4, 2)(t)),
    "AIRY_P": of_inverse_square(AIRY_LOW, lambda zeta: airy_parts(zeta)[0]),
    "AIRY_Q": of_inverse_square(AIRY_LOW, lambda zeta: zeta * airy_parts(zeta)[1]),
    "AIRY_DECAY": of_inverse(AIRY_HIGH, airy_decay),
}

HEAD = '''"""The series of the special functions. Written by tools/special_series.py, which explains them."""

'''


def coefficients(function):
    """The Chebyshev coefficients of a function on [-1, 1], up to float64 precision."""
    angles = [(2 * j + 1) * mp.pi / (2 * NODES) for j in range(NODES)]
    values = [function(mp.cos(angle)) for angle in angles]
    found = [
        2 * mp.fsum(v * mp.cos(i * angle) for v, angle in zip(values, angles, strict=True)) / NODES
        for i in range(NODES)
    ]
    found[0] /= 2
    size = max(abs(c) for c in found)
    while abs(found[-1]) < size * mp.mpf("2e-17"):
        found.pop()
    return [float(c) for c in found]


def main():
    lines = [HEAD]
    for name, function in SERIES.items():
        found = coefficients(function)
        print(f"{name}: {len(found)} terms, the last {found[-1]:.1e}")
        lines.append(f"{name} = (\n")
        for i in range(0, len(found), 4):
            lines.append("    " + " ".join(f"{c!r}," for c in found[i:i + 4]) + "\n")
        lines.append(")\n")
    TARGET.write_text("".join(lines))


if __name__ == "__main__":
    main()
