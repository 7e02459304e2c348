"""Powers, exponentials, logarithms, trigonometric and hyperbolic functions."""

import cmath
import math

from numpy import generic, ndarray

from ._op import kernel_op, op
from .pointwise import cj, is_complex, keep, numbers_fit, where
from .shape import zeros_like

LN2, LN10 = math.log(2), math.log(10)
USUAL_POWERS = {
    3: lambda k, x: x * x * x,
    0.5: lambda k, x: k.sqrt(x),
    -0.5: lambda k, x: k.reciprocal(k.sqrt(x)),
    -1: lambda k, x: k.reciprocal(x),
    -2: lambda k, x: k.reciprocal(x * x),
}

# ---- powers and roots

reciprocal = kernel_op("reciprocal", inputs="x", promote="float")
reciprocal.vjp(x=lambda g, out: -g * cj(out * out))

sqrt = kernel_op("sqrt", inputs="x", promote="float")
sqrt.vjp(x=lambda g, out: g / (2 * cj(out)))


@op(promote="float")
def rsqrt(k, x):
    return k.reciprocal(k.sqrt(x))


rsqrt.vjp(x=lambda g, out: -0.5 * g * cj(out * out * out))


@op(promote="common", node="PowBackward0")
def square(k, x):
    return x * x


square.vjp(x=lambda g, x: g * (2 * cj(x)))


@op(promote="common", node="PowBackward0", check=numbers_fit)
def pow_scalar(k, x, y):
    """x to the power of a Python number, with shortcuts for common exponents that preserve infinities and zeros."""
    y = y.item() if isinstance(y, (ndarray, generic)) and not y.ndim else y
    way = USUAL_POWERS.get(y) if type(y) in (int, float, complex) and x.dtype.kind in "fc" else None
    if way is not None:
        return way(k, x)
    return x * x * x if type(y) is int and y == 3 else x**y


def power_slope(g, x, y):
    if y == 0:
        return zeros_like(g)
    return g * (2 * cj(x)) if y == 2 else g * cj(y * pow_scalar(x, y - 1))


pow_scalar.vjp(x=power_slope)

pow_ = kernel_op("pow", "power", inputs="x, y", promote="common", node="PowBackward1", refuses="b")
pow_.vjp(
    x=lambda g, x, y: keep(g * cj(y * x ** (y - 1)), y != 0),
    y=lambda g, x, y, out: g * keep(cj(out * log(x)), exponent_matters(x, y)),
)


def exponent_matters(x, y):
    """False where 0 ** y stays 0 (or 1) around a non-negative y."""
    return x != 0 if is_complex(y) else (x != 0) | ~(y >= 0)


@op(promote="common", node="PowBackward2", refuses="b", row_major=True)
def rpow(k, x, y):
    """A Python number y to the power x; all powers of 1 are 1, also the complex ones."""
    return k.ones_like(x) if x.dtype.kind == "c" and y == 1 else k.power(y, x)


def rpow_slope(g, x, y, out):
    if y != 0:
        return g * cj(out * log_of_number(y))
    return g * keep(out * -math.inf, x != x if is_complex(x) else ~(x >= 0))


rpow.vjp(x=rpow_slope)


def log_of_number(y):
    y = y.item() if hasattr(y, "item") else y
    return cmath.log(y) if isinstance(y, complex) else math.log(y) if y > 0 else math.nan


hypot = kernel_op("hypot", inputs="x, y", promote="common", refuses="bic")
hypot.vjp(x=lambda g, x, out: g * (x / out), y=lambda g, y, out: g * (y / out))


@op(promote="float")
def ldexp(k, x, y):
    return x * two_to(k, y)


ldexp.vjp(x=lambda g, y: g * cj(exp2(y)), y=lambda g, out: g * cj(out * LN2))

frexp = kernel_op("frexp", inputs="x", refuses="bic", opmath=True)
frexp.vjp(x=lambda g, out_1: ldexp(g[0], -out_1))

# ---- exponentials and logarithms

exp = kernel_op("exp", inputs="x", promote="float")
exp.vjp(x=lambda g, out: g * cj(out))


def two_to(k, x):
    return k.exp(k.to_complex(x.real * LN2, x.imag * LN2)) if x.dtype.kind == "c" else k.exp2(x)


@op(promote="float")
def exp2(k, x):
    return two_to(k, x)


exp2.vjp(x=lambda g, out: g * cj(out * LN2))

expm1 = kernel_op("expm1", inputs="x", promote="float")
expm1.vjp(x=lambda g, out: g * cj(out + 1))

log = kernel_op("log", inputs="x", promote="float")
log.vjp(x=lambda g, x: g / cj(x))

log1p = kernel_op("log1p", inputs="x", promote="float", node="Log1PBackward0")
log1p.vjp(x=lambda g, x: g / cj(x + 1))

log2 = kernel_op("log2", inputs="x", promote="float")
log2.vjp(x=lambda g, x: g / cj(x * LN2))

log10 = kernel_op("log10", inputs="x", promote="float")
log10.vjp(x=lambda g, x: g / cj(x * LN10))


@op(promote="common", refuses="bi")
def logaddexp(k, x, y):
    if x.dtype.kind != "c":
        return k.logaddexp(x, y)
    larger = x.real >= y.real
    return k.where(larger, x, y) + k.log1p(k.exp(k.where(larger, y - x, x - y)))


logaddexp.vjp(x=lambda g, x, y: g / cj(1 + exp(y - x)), y=lambda g, x, y: g / cj(1 + exp(x - y)))

logaddexp2 = kernel_op("logaddexp2", inputs="x, y", promote="common", refuses="bic")
logaddexp2.vjp(x=lambda g, x, y: g / (1 + exp2(y - x)), y=lambda g, x, y: g / (1 + exp2(x - y)))


@op(promote="float", refuses="c")
def xlogy(k, x, y):
    """x * log(y), and 0 where x is 0 unless y is NaN."""
    x, y = as_arrays(k, x, y)
    return k.where(y != y, y, k.where(x == 0, 0, x * k.log(y)))


def as_arrays(k, x, y):
    """Two operands, one of which may be a number, as arrays of one dtype."""
    return k.asarray(x, getattr(y, "dtype", None)), k.asarray(y, getattr(x, "dtype", None))


def scaled_log(g, x, y):
    return keep(xlogy(g, y), ~((x == 0) & (y <= 0)))


xlogy.vjp(x=scaled_log, y=lambda g, x, y: g * x / y)

sigmoid = kernel_op("sigmoid", inputs="x", promote="float")
sigmoid.vjp(x=lambda g, out: g * cj(out * (1 - out)))


@op(promote="float", refuses="c")
def logit(k, x, *, eps):
    if eps is not None:
        x = k.where(x < eps, eps, k.where(x > 1 - eps, 1 - eps, x))  # eps may be above one half, or NaN
    return k.log(x / (1 - x))


def logit_slope(g, x, eps):
    slope = g / (x * (1 - x))
    if eps is None or eps < 0:
        return slope + keep(g * 0 + math.nan, (x < 0) | (x > 1))
    return keep(slope, ~((x < eps) | (x > 1 - eps)))


logit.vjp(x=logit_slope)

# ---- angles


def no_complex(x):
    if is_complex(x):
        raise RuntimeError("angles in degrees are not supported for complex tensors")


@op(promote="float", node="Deg2RadBackward0", refuses="c", check=no_complex)
def deg2rad(k, x):
    return x * (math.pi / 180)


deg2rad.vjp(x=lambda g: g * (math.pi / 180))


@op(promote="float", node="Rad2DegBackward0", refuses="c", check=no_complex)
def rad2deg(k, x):
    return x * (180 / math.pi)


rad2deg.vjp(x=lambda g: g * (180 / math.pi))


sin = kernel_op("sin", inputs="x", promote="float")
sin.vjp(x=lambda g, x: g * cj(cos(x)))

cos = kernel_op("cos", inputs="x", promote="float")
cos.vjp(x=lambda g, x: -g * cj(sin(x)))

tan = kernel_op("tan", inputs="x", promote="float")
tan.vjp(x=lambda g, out: g * cj(1 + out * out))

asin = kernel_op("asin", "arcsin", inputs="x", promote="float")
asin.vjp(x=lambda g, x: g * cj(rsqrt(1 - x * x)))

acos = kernel_op("acos", "arccos", inputs="x", promote="float")
acos.vjp(x=lambda g, x: -g * cj(rsqrt(1 - x * x)))

atan = kernel_op("atan", "arctan", inputs="x", promote="float")
atan.vjp(x=lambda g, x: g / cj(1 + x * x))

atan2 = kernel_op("atan2", "arctan2", inputs="x, y", promote="float", refuses="c")
atan2.vjp(x=lambda g, x, y: angle_slope(g, y, x), y=lambda g, x, y: angle_slope(g, -x, y))


def angle_slope(g, across, along):
    square = across * across + along * along
    return g * keep(across / square, square != 0)


sinc = kernel_op("sinc", inputs="x", promote="float")


def sinc_slope(g, x):
    turn = math.pi * x
    square = turn * x
    slope = (cos(turn) * turn - sin(turn)) / where(square == 0, 1, square)
    return keep(g * cj(slope), square != 0)


sinc.vjp(x=sinc_slope)

# ---- hyperbolic functions

sinh = kernel_op("sinh", inputs="x", promote="float")
sinh.vjp(x=lambda g, x: g * cj(cosh(x)))

cosh = kernel_op("cosh", inputs="x", promote="float")
cosh.vjp(x=lambda g, x: g * cj(sinh(x)))

tanh = kernel_op("tanh", inputs="x", promote="float")
tanh.vjp(x=lambda g, out: g * cj(1 - out * out))

asinh = kernel_op("asinh", "arcsinh", inputs="x", promote="float")
asinh.vjp(x=lambda g, x: g * cj(rsqrt(x * x + 1)))

acosh = kernel_op("acosh", "arccosh", inputs="x", promote="float")
acosh.vjp(x=lambda g, x: g * (cj(rsqrt(x - 1) * rsqrt(x + 1)) if is_complex(x) else rsqrt(x * x - 1)))

atanh = kernel_op("atanh", "arctanh", inputs="x", promote="float")
atanh.vjp(x=lambda g, x: g / cj(1 - x * x))

