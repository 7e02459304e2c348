"""Special functions under SciPy's names: ``flambeau.special``."""

from ._signatures import set_name
from .functions import elementary, pointwise
from .functions import special as base
from .functions._binary import binary, operands
from .functions._folds import numpy_names
from .functions._out import out_variant
from .functions._unary import unary
from .ops import special as ops

BESSEL = ops.bessel
UNARY = {
    "airy_ai": (BESSEL["airy_ai"], "Airy's function Ai."),
    "bessel_j0": (BESSEL["bessel_j0"], "The Bessel function of the first kind, of order 0."),
    "bessel_j1": (BESSEL["bessel_j1"], "The Bessel function of the first kind, of order 1."),
    "bessel_y0": (BESSEL["bessel_y0"], "The Bessel function of the second kind, of order 0."),
    "bessel_y1": (BESSEL["bessel_y1"], "The Bessel function of the second kind, of order 1."),
    "digamma": (ops.digamma, "The derivative of ``gammaln``."),
    "entr": (ops.entr, "``-x log(x)``, 0 at 0 and -inf below."),
    "erf": (ops.erf, "The error function."),
    "erfc": (ops.erfc, "``1 - erf(x)``, exact for large x."),
    "erfcx": (ops.erfcx, "``exp(x**2) erfc(x)``, without overflow."),
    "erfinv": (ops.erfinv, "The inverse of the error function."),
    "exp2": (elementary.ops.exp2, "2 to the power of each element."),
    "expit": (elementary.ops.sigmoid, "The logistic function ``1 / (1 + exp(-x))``."),
    "expm1": (elementary.ops.expm1, "``exp(x) - 1``, exact for small x."),
    "gammaln": (ops.lgamma, "The logarithm of the absolute value of the gamma function."),
    "i0": (ops.i0, "The modified Bessel function of the first kind, of order 0."),
    "i0e": (ops.i0e, "``exp(-|x|) i0(x)``."),
    "i1": (ops.i1, "The modified Bessel function of the first kind, of order 1."),
    "i1e": (ops.i1e, "``exp(-|x|) i1(x)``."),
    "log1p": (elementary.ops.log1p, "``log(1 + x)``, exact for small x."),
    "log_ndtr": (ops.log_ndtr, "The logarithm of the normal distribution function."),
    "modified_bessel_i0": (
        BESSEL["modified_bessel_i0"], "The modified Bessel function of the first kind, of order 0.",
    ),
    "modified_bessel_i1": (
        BESSEL["modified_bessel_i1"], "The modified Bessel function of the first kind, of order 1.",
    ),
    "modified_bessel_k0": (
        BESSEL["modified_bessel_k0"], "The modified Bessel function of the second kind, of order 0.",
    ),
    "modified_bessel_k1": (
        BESSEL["modified_bessel_k1"], "The modified Bessel function of the second kind, of order 1.",
    ),
    "ndtr": (ops.ndtr, "The normal distribution function."),
    "ndtri": (ops.ndtri, "The inverse of the normal distribution function."),
    "psi": (ops.digamma, "The derivative of ``gammaln``."),
    "scaled_modified_bessel_k0": (
        BESSEL["scaled_modified_bessel_k0"], "``exp(x) modified_bessel_k0(x)``.",
    ),
    "scaled_modified_bessel_k1": (
        BESSEL["scaled_modified_bessel_k1"], "``exp(x) modified_bessel_k1(x)``.",
    ),
    "sinc": (elementary.ops.sinc, "``sin(pi x) / (pi x)``, 1 at zero."),
    "spherical_bessel_j0": (BESSEL["spherical_bessel_j0"], "``sin(x) / x``, 1 at zero."),
}
for _name, (_call, _doc) in UNARY.items():
    globals()[_name] = unary(_call, "special_" + _name, _doc, differentiable=_call not in BESSEL.values())
    globals()[_name].__name__ = _name

gammainc, gammaincc = base.igamma, base.igammac
polygamma, multigammaln = base.polygamma, base.mvlgamma
logit, xlogy, round = elementary.logit, elementary.xlogy, pointwise.round
xlog1py = binary(ops.xlog1py, "xlog1py", "``input * log1p(other)``, 0 where ``input`` is 0.", either=True)
zeta = binary(ops.zeta, "zeta", "Hurwitz' zeta function: the sum of ``(other + n) ** -input``.", either=True)


def _polynomial(call, name):
    """``name(input, n, *, out=None)``; either may be a number."""

    def function(input, n):
        return call(*operands(input, n, "special_" + name, either=True, second="n"))

    kind, _, letter = name.rpartition("_polynomial_")
    doc = f"The {kind.replace('_', ' ')} polynomial {letter} of degree ``n`` at each element."
    return out_variant(set_name(function, name, doc, "flambeau.special"), differentiable=False)


for _name, _call in ops.polynomials.items():
    globals()[_name] = _polynomial(_call, _name)


@numpy_names
def softmax(input, dim, *, dtype=None):
    """The exponentials along ``dim``, divided by their sum."""
    return input.softmax(dim, dtype=dtype)


@numpy_names
def log_softmax(input, dim, *, dtype=None):
    """The logarithm of ``softmax``."""
    return input.log_softmax(dim, dtype=dtype)


@numpy_names
@out_variant
def logsumexp(input, dim, keepdim=False):
    """The logarithm of the sum of the exponentials along ``dim``."""
    return input.logsumexp(dim, keepdim)


__all__ = [
    *UNARY, *ops.polynomials, "gammainc", "gammaincc", "log_softmax", "logit", "logsumexp", "multigammaln",
    "polygamma", "round", "softmax", "xlog1py", "xlogy", "zeta",
]
