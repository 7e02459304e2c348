"""Special functions: error functions, the gamma function's family, Bessel's functions, polynomials."""

import math

import ml_dtypes

from ._op import kernel_op, op
from .elementary import as_arrays, exp, log, square, xlogy
from .pointwise import abs_, keep, numpy_dtype, sgn, where, without_derivative

TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2 * math.pi)
ROOT_HALF = math.sqrt(0.5)

# ---- error functions

erf = kernel_op("erf", inputs="x", promote="float", refuses="c")
erf.vjp(x=lambda g, x: g * TWO_BY_ROOT_PI * exp(-x * x))

erfc = kernel_op("erfc", inputs="x", promote="float", refuses="c")
erfc.vjp(x=lambda g, x: -g * TWO_BY_ROOT_PI * exp(-x * x))

erfinv = kernel_op("erfinv", inputs="x", promote="float", refuses="c")
erfinv.vjp(x=lambda g, x: g / TWO_BY_ROOT_PI * exp(square(erfinv(x))))

erfcx = kernel_op("special_erfcx", "erfcx", inputs="x", promote="float", refuses="c")
erfcx.vjp(x=lambda g, x, out: g * (2 * x * out - TWO_BY_ROOT_PI))


@op(promote="float", node="MulBackward1", refuses="c")
def ndtr(k, x):
    """The normal distribution function."""
    return k.erfc(x * -ROOT_HALF) / 2


ndtr.vjp(x=lambda g, x: g * exp(x * x / -2) / ROOT_2PI)

ndtri = kernel_op("special_ndtri", "ndtri", inputs="x", promote="float", refuses="c")
ndtri.vjp(x=lambda g, out: g * ROOT_2PI * exp(out * out / 2))

log_ndtr = kernel_op("special_log_ndtr", "log_ndtr", inputs="x", promote="float", refuses="c")
log_ndtr.vjp(x=lambda g, x: g * (2 / ROOT_2PI) / erfcx(x * -ROOT_HALF))


@op(name="special_entr", promote="float", refuses="c")
def entr(k, x):
    """-x log(x), with its limit 0 at 0, and -inf below."""
    inside = -x * k.log(k.where(x > 0, x, 1))
    return k.where(x < 0, -math.inf, k.where(x > 0, inside, x * x))


entr.vjp(x=lambda g, x: -g * (1 + log(x)))


@op(name="special_xlog1py", node="SpecialXlog1PyBackward0", promote="float", refuses="c")
def xlog1py(k, x, y):
    """x * log(1 + y), and 0 where x is 0 unless y is nan."""
    x, y = as_arrays(k, x, y)
    return k.where(y != y, y, k.where(x == 0, 0, x * k.log1p(y)))


xlog1py.vjp(x=lambda g, x, y: keep(xlog1py(g, y), ~((x == 0) & (y <= -1))), y=lambda g, x, y: g * x / (y + 1))

# ---- the gamma function

lgamma = kernel_op("lgamma", inputs="x", promote="float", refuses="c")
lgamma.vjp(x=lambda g, x: g * digamma(x))

digamma = kernel_op("digamma", inputs="x", promote="float", refuses="c")
digamma.vjp(x=lambda g, x: g * polygamma(x, n=1))


@op(promote="float", refuses="c")
def polygamma(k, x, *, n):
    """The n-th derivative of digamma, n >= 1."""
    return k.zeta(k.full_like(x, n + 1.0), x) * ((-1) ** (n + 1) * math.factorial(n))


polygamma.vjp(x=lambda g, x, n: g * polygamma(x, n=n + 1))


@op(promote="float", refuses="c", row_major=True)
def mvlgamma(k, x, *, p):
    """The logarithm of the p-dimensional gamma function."""
    return sum((k.lgamma(x - i / 2) for i in range(p)), p * (p - 1) / 4 * math.log(math.pi))


mvlgamma.vjp(x=lambda g, x, p: g * sum((digamma(x - i / 2) for i in range(1, p)), digamma(x)))

zeta = kernel_op(
    "special_zeta", "zeta", inputs="x, y", promote="float", refuses="c",
    scalar_node="SpecialZetaBackward1",
)
zeta.vjp(x=without_derivative("zeta"), y=lambda g, x, y: g * -x * zeta(x + 1, y))


def gamma_density(a, x):
    return exp(xlogy(a - 1, x) - x - lgamma(a))


igamma = kernel_op("igamma", inputs="a, x", promote="common", refuses="bic")
igamma.vjp(a=without_derivative("igamma: input"), x=lambda g, a, x: g * gamma_density(a, x))

igammac = kernel_op("igammac", inputs="a, x", promote="common", refuses="bic")
igammac.vjp(a=without_derivative("igammac: input"), x=lambda g, a, x: -g * gamma_density(a, x))

# ---- Bessel's functions

i0 = kernel_op("i0", inputs="x", promote="float", refuses="c")
i0.vjp(x=lambda g, x: g * i1(x))

i1 = kernel_op("special_i1", "i1", inputs="x", promote="float", refuses="c")
i1.vjp(x=lambda g, x, out: g * where(is_far(x), i0(x) - out / nonzero(x), 0.5))

i0e = kernel_op("special_i0e", "i0e", inputs="x", promote="float", refuses="c", node="SpecialI0EBackward0")
i0e.vjp(x=lambda g, x, out: g * (i1e(x) - sgn(x) * out))

i1e = kernel_op("special_i1e", "i1e", inputs="x", promote="float", refuses="c", node="SpecialI1EBackward0")
i1e.vjp(x=lambda g, x, out: g * where(is_far(x), i0e(x) - out * (sgn(x) + 1 / nonzero(x)), 0.5))


def is_far(x):
    """Whether x is far enough from zero for a difference quotient."""
    return abs_(x) > ml_dtypes.finfo(numpy_dtype(x)).eps


def nonzero(x):
    """x with ones near zero, to divide by where the quotient is not used."""
    return where(is_far(x), x, 1)


UNRECORDED = (  # in PyTorch these have no gradient
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
)
POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
)


def kernel_without_gradient(name, inputs, kernel=None):
    return kernel_op("special_" + name, kernel or name, inputs=inputs, promote="float", refuses="c")


bessel = {name: kernel_without_gradient(name, "x") for name in UNRECORDED}
bessel["modified_bessel_i0"] = kernel_without_gradient("modified_bessel_i0", "x", "i0")
bessel["modified_bessel_i1"] = kernel_without_gradient("modified_bessel_i1", "x", "i1")
polynomials = {name: kernel_without_gradient(name, "x, n") for name in POLYNOMIALS}
