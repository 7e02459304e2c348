"""Special functions of ``torch``; ``flambeau.special`` has these under SciPy's names, and more."""

from ..ops import special as ops
from ._args import as_int, need_tensor
from ._attach import inplace_methods, methods
from ._binary import binary
from ._out import out_variant
from ._unary import unary

__all__ = [
    "digamma", "erf", "erf_", "erfc", "erfc_", "erfinv", "i0", "i0_", "igamma", "igammac", "lgamma",
    "mvlgamma", "polygamma",
]

digamma = unary(ops.digamma, "digamma", "The derivative of ``lgamma`` at each element.")
erf = unary(ops.erf, "erf", "The error function of each element.")
erfc = unary(ops.erfc, "erfc", "``1 - erf(x)``, exact for large x.")
erfinv = unary(ops.erfinv, "erfinv", "The inverse of the error function, on (-1, 1).")
i0 = unary(ops.i0, "i0", "The modified Bessel function of the first kind, of order 0.")
lgamma = unary(ops.lgamma, "lgamma", "The logarithm of the absolute value of the gamma function.")
igamma = binary(
    ops.igamma, "igamma", "The regularised lower incomplete gamma function, with parameter ``input``.",
    numbers=False,
)
igammac = binary(
    ops.igammac, "igammac", "The regularised upper incomplete gamma function, with parameter ``input``.",
    numbers=False,
)


@out_variant
def polygamma(n, input):
    """The ``n``-th derivative of ``digamma``."""
    need_tensor(input, "polygamma", position=2)
    n = as_int(n, "polygamma", "n")
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}.")
    return ops.digamma(input) if n == 0 else ops.polygamma(input, n=n)


@out_variant(aliases="any")
def mvlgamma(input, p):
    """The logarithm of the ``p``-dimensional gamma function."""
    need_tensor(input, "mvlgamma")
    if input._a.dtype.kind == "b":
        raise RuntimeError("mvlgamma(): The input tensor may not be a boolean tensor.")
    p = as_int(p, "mvlgamma", "p")
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {p}")
    return ops.mvlgamma(input, p=p)


def _polygamma(self, n):
    """The ``n``-th derivative of ``digamma``."""
    return polygamma(n, self)


_ALL = (digamma, erf, erfc, erfinv, i0, igamma, igammac, lgamma, mvlgamma)
methods(*_ALL, polygamma=_polygamma)
globals().update(inplace_methods(*_ALL, polygamma=_polygamma, elementwise=True))
