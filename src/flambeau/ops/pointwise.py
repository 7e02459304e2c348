"""Elementwise arithmetic, rounding, selection and complex parts."""

import math

from .._dtypes import HALF, finfo, float32, from_np
from ._errors import refuse_kinds
from ._op import kernel_op, op
from .compare import isclose, isfinite, isnan  # noqa: F401  (for the other families)
from .shape import zeros_like

NO_GRADIENT = "derivative for aten::{name} is not implemented. Detach its inputs, or use another function."
NO_DERIVATIVE = "the derivative for '{name}' is not implemented. Detach its inputs, or use another function."
SUBTRACT_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
    "`logical_xor()` operator instead."
)
SUBTRACT_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
    "mask, use the `~` or `logical_not()` operator instead."
)
NEGATE_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
    "use the `~` or `logical_not()` operator instead."
)


FLOAT32 = float32.np


def flat(g):
    """The gradient of a piecewise constant function."""
    return zeros_like(g)


def undifferentiable(name):
    """The vjp of a function that PyTorch records as NotImplemented."""

    def vjp(g):
        raise RuntimeError(NO_GRADIENT.format(name=name))

    return vjp


def without_derivative(name):
    """The vjp of a function that PyTorch records under its own name, but cannot differentiate."""

    def vjp(g):
        raise NotImplementedError(NO_DERIVATIVE.format(name=name))

    return vjp


def is_bool(x):
    return isinstance(x, bool) or getattr(getattr(x, "dtype", None), "kind", "") == "b"


def is_complex(x):
    """Whether an array, a tensor or a number is complex."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return isinstance(x, complex)
    kind = getattr(dtype, "kind", None)
    return dtype.is_complex if kind is None else kind == "c"


def numpy_dtype(x):
    """The NumPy dtype of an array or a tensor."""
    return getattr(x.dtype, "np", x.dtype)


def at_least_float32(x):
    """The NumPy dtype in which factors of a gradient x are computed."""
    dtype = numpy_dtype(x)
    return FLOAT32 if dtype.itemsize < FLOAT32.itemsize else dtype


# ---- complex numbers


@op(promote="common", node="ConjPhysicalBackward0")
def conj(k, x):
    return k.conj(x) if x.dtype.kind == "c" else x


conj.vjp(x=lambda g: conj(g))


def cj(x):
    """The conjugate of a factor in a gradient; real arrays and Python numbers are returned unchanged."""
    if not is_complex(x):
        return x
    return x.conjugate() if type(x) is complex else conj(x)


@op(view=True, node="SelectBackward0", put=lambda k, x, value: k.to_complex(value, x.imag), copies=True)
def real(k, x):
    return x.real


real.vjp(x=lambda g: g)  # the engine makes it complex


@op(view=True, node="SelectBackward0", put=lambda k, x, value: k.to_complex(x.real, value), copies=True)
def imag(k, x):
    return x.imag


imag.vjp(x=lambda g: g * 1j)

complex_ = kernel_op("complex", "to_complex", inputs="re, im")
complex_.vjp(re=lambda g: real(g), im=lambda g: imag(g))


@op
def polar(k, radius, angle):
    return k.to_complex(radius * k.cos(angle), radius * k.sin(angle))


polar.vjp(
    radius=lambda g, out: real(g * conj(sgn(out))),
    angle=lambda g, out: real(g * conj(out * 1j)),
)


@op(promote="float")
def angle(k, x):
    if x.dtype.kind == "c":
        return k.angle(x)
    return k.where(x != x, x, k.where(x < 0, math.pi, 0).astype(x.dtype))


angle.vjp(x=lambda g, x: keep(g * 1j * x, x != 0) / (abs_(x) * abs_(x) + (x == 0)) if is_complex(x) else flat(g))


# ---- choice

# x where the mask holds, zero elsewhere even for infinities: the gradient of most piecewise functions.
keep = kernel_op("keep", inputs="x, mask", node="MaskedFillBackward0")
keep.vjp(x=lambda g, mask: keep(g, mask))

where = kernel_op("where", inputs="condition, x, y")
where.vjp(x=lambda g, condition: keep(g, condition), y=lambda g, condition: keep(g, ~condition))


def ties(g, loses, equal):
    """The gradient of the larger (or smaller) of two: ties share it."""
    return keep(where(equal, g / 2, g), ~loses)


maximum = kernel_op("maximum", inputs="x, y", promote="common", refuses="c")
maximum.vjp(x=lambda g, x, y: ties(g, x < y, x == y), y=lambda g, x, y: ties(g, y < x, x == y))

minimum = kernel_op("minimum", inputs="x, y", promote="common", refuses="c")
minimum.vjp(x=lambda g, x, y: ties(g, x > y, x == y), y=lambda g, x, y: ties(g, y > x, x == y))

fmax = kernel_op("fmax", inputs="x, y", promote="common", refuses="c")
fmax.vjp(x=lambda g, x, y: keep(g, (x >= y) | (y != y)), y=lambda g, x, y: keep(g, ~((x >= y) | (y != y))))

fmin = kernel_op("fmin", inputs="x, y", promote="common", refuses="c")
fmin.vjp(x=lambda g, x, y: keep(g, (x <= y) | (y != y)), y=lambda g, x, y: keep(g, ~((x <= y) | (y != y))))


def between(k, x, low, high):
    """x between `low` and `high`, of which one may be None; NaN in any of them gives NaN."""
    if high is None:
        return k.maximum(x, low)
    if low is None:
        return k.minimum(x, high)
    return k.clip(x, low, high)


def numbers_fit(x, *numbers):
    """Raises PyTorch's error for a number outside the range of x's dtype: integers, and half precision."""
    if x.dtype in HALF:
        largest = finfo(from_np(x.dtype)).max
        for n in numbers:
            if isinstance(n, (int, float)) and largest < abs(n) < math.inf:
                raise RuntimeError(f"value cannot be converted to type {from_np(x.dtype).name} without overflow: {n}")
    elif x.dtype.kind in "iu":
        bits = 8 * x.dtype.itemsize - (x.dtype.kind == "i")
        for n in numbers:
            if isinstance(n, int) and not -(1 << bits) + (x.dtype.kind == "u") <= n < 1 << bits:
                raise RuntimeError(f"value cannot be converted to type {x.dtype} without overflow: {n}")


def clamp_node(low, high):
    return "ClampBackward1" if isinstance(low, (int, float)) or isinstance(high, (int, float)) else "ClampBackward0"


def bounds_fit(x, low, high):
    """Raises PyTorch's errors for the bounds of x. Where all are booleans, only one bound is implemented, a tensor."""
    floats = [bound for bound in (low, high) if isinstance(bound, float)]
    if not any(map(math.isnan, floats)) and not (floats and x.dtype.kind in "iu"):  # else it is NaN, or floating
        numbers_fit(x, low, high)
    bounds = [bound for bound in (low, high) if bound is not None]
    booleans = all(type(a) is bool or (hasattr(a, "dtype") and a.dtype.kind == "b") for a in (x, *bounds))
    if booleans and (len(bounds) > 1 or type(bounds[0]) is bool):
        refuse_kinds("clamp", x, "b")


@op(promote="common", node=clamp_node, refuses="c", check=bounds_fit)
def clamp(k, x, low, high):
    return between(k, x, low, high)


def inside(x, low, high):
    if high is None:
        return x >= low
    if low is None:
        return x <= high
    return (x >= low) & (x <= high)


clamp.vjp(
    x=lambda g, x, low, high: keep(g, inside(x, low, high)),
    low=lambda g, x, low, high: keep(g, x < low if high is None else (x < low) & (low < high)),
    high=lambda g, x, low, high: keep(g, x > high if low is None else (x > high) | (high < low)),
)


@op(node="ClampBackward1", opmath=True, refuses="c")
def clamp_numbers(k, x, *, low, high):
    """A shortcut for the common case: bounds that are numbers and do not change the dtype."""
    return between(k, x, low, high)


clamp_numbers.vjp(x=lambda g, x, low, high: keep(g, inside(x, low, high)))


def bound_fits(x, y):
    bounds_fit(x, y, None)


clamp_min = kernel_op("clamp_min", "maximum", inputs="x, y", promote="common", refuses="c", check=bound_fits,
                      node="ClampMinBackward1", scalar_node="ClampMinBackward0")
clamp_min.vjp(x=lambda g, x, y: keep(g, x >= y), y=lambda g, x, y: keep(g, x < y))

clamp_max = kernel_op("clamp_max", "minimum", inputs="x, y", promote="common", refuses="c", check=bound_fits,
                      node="ClampMaxBackward1", scalar_node="ClampMaxBackward0")
clamp_max.vjp(x=lambda g, x, y: keep(g, x <= y), y=lambda g, x, y: keep(g, x > y))


@op(name="heaviside", node="NotImplemented", promote="common", refuses="c")
def heaviside(k, x, values):
    return k.where(x == 0, values, (x > 0).astype(x.dtype))


heaviside.vjp(x=undifferentiable("heaviside"), values=undifferentiable("heaviside"))


@op(promote="common")
def nan_to_num(k, x, *, nan, posinf, neginf):
    if x.dtype.kind == "c":
        return k.to_complex(*[k.replace_nonfinite(part, nan, posinf, neginf) for part in (x.real, x.imag)])
    return k.replace_nonfinite(x, nan, posinf, neginf)


nan_to_num.vjp(x=lambda g, x: g * isfinite(x))  # nan where g is nan, as in PyTorch


# ---- arithmetic

def by_number(t):
    """`t`, the sum, difference, product or quotient of a tensor and a number, with the node that PyTorch has where its
    own code computes it; Python's operators make a tensor of the number."""
    if t._node is not None:
        t._node.__class__ = t._node.op.node_class(type(t._node).__name__.replace("0", "1"))
    return t


add = kernel_op("add", inputs="x, y", promote="common")
add.vjp(x=lambda g: g, y=lambda g: g)


def no_bools(x, y):
    if is_bool(x) or is_bool(y):
        raise RuntimeError(SUBTRACT_BOOLS if is_bool(x) and is_bool(y) else SUBTRACT_BOOL)


sub = kernel_op("sub", "subtract", inputs="x, y", promote="common", refuses="b", check=no_bools)
sub.vjp(x=lambda g: g, y=lambda g: -g)


@op(promote="common", node="AddBackward0")
def add_scaled(k, x, y, *, alpha):
    return x + y * alpha


add_scaled.vjp(x=lambda g: g, y=lambda g, alpha: g * alpha.conjugate())


@op(promote="common", node="SubBackward0", check=no_bools)
def sub_scaled(k, x, y, *, alpha):
    return x - y * alpha


sub_scaled.vjp(x=lambda g: g, y=lambda g, alpha: -g * alpha.conjugate())


@op(promote="common", node="RsubBackward0", scalar_node="RsubBackward1", refuses="b", check=no_bools)
def rsub(k, x, y):
    return k.subtract(y, x)


rsub.vjp(x=lambda g: -g, y=lambda g: g)


mul = kernel_op("mul", "multiply", inputs="x, y", promote="common")
mul.vjp(x=lambda g, y: g * cj(y), y=lambda g, x: g * cj(x))

div = kernel_op("div", "divide", inputs="x, y", promote="float")
div.vjp(x=lambda g, y: g / cj(y), y=lambda g, x, y: -g * cj(x / y / y))

div_floor = kernel_op("div_floor", "floor_divide", inputs="x, y", promote="common", node="DivBackward2", refuses="bc")
div_floor.vjp(x=flat, y=flat)

div_trunc = kernel_op("div_trunc", inputs="x, y", promote="common", node="DivBackward2", refuses="bc")
div_trunc.vjp(x=flat, y=flat)

floor_divide = kernel_op("floor_divide", inputs="x, y", promote="common", node="NotImplemented", refuses="bc")
floor_divide.vjp(x=undifferentiable("floor_divide"), y=undifferentiable("floor_divide"))

remainder = kernel_op("remainder", inputs="x, y", promote="common", refuses="bc",
                      node="RemainderBackward1", scalar_node="RemainderBackward0")
remainder.vjp(x=lambda g: g, y=lambda g, x, y: -g * div_floor(x, y))

fmod = kernel_op(
    "fmod", inputs="x, y", promote="common", refuses="bc", node="FmodBackward1",
    scalar_node="FmodBackward0",
)
fmod.vjp(x=lambda g: g, y=lambda g, x, y: -g * div_trunc(x, y))


def no_bool(x):
    if is_bool(x):
        raise RuntimeError(NEGATE_BOOL)


neg = kernel_op("neg", "negative", inputs="x", promote="common", refuses="b", check=no_bool)
neg.vjp(x=lambda g: -g)

abs_ = kernel_op("abs", inputs="x", promote="common", refuses="b")
abs_.vjp(x=lambda g, x: g * sgn(x))

sign = kernel_op("sign", inputs="x", promote="common", refuses="c")
sign.vjp(x=flat)

sgn = kernel_op("sgn", "sign", inputs="x", promote="common")


@sgn.joint_vjp
def _(g, x, out):
    if not is_complex(x):
        return (flat(g),)
    return (keep(g - out * real(g * conj(out)), x != 0) / (abs_(x) + (x == 0)),)  # zero at zero, as are its derivatives


signbit = kernel_op("signbit", inputs="x", promote="common", refuses="c")

copysign = kernel_op("copysign", inputs="x, y", promote="float", refuses="c", scalar_node="CopysignBackward1")
copysign.vjp(x=lambda g, x, out: g * keep(out / x, x != 0), y=flat)

nextafter = kernel_op("nextafter", inputs="x, y", promote="common", opmath=False, refuses="bic")
nextafter.vjp(x=lambda g, x, y: keep(g, x != y), y=flat)

gcd = kernel_op("gcd", inputs="x, y", promote="common", refuses="bfc")
lcm = kernel_op("lcm", inputs="x, y", promote="common", refuses="bfc")


@op(opmath=True, node="LerpBackward1", scalar_node="LerpBackward0", refuses="bi")
def lerp(k, start, end, weight):
    """Interpolates from `start` to `end`, starting from the nearer of the two."""
    if isinstance(weight, (int, float)):
        return k.lerp(start, end, weight)
    far = end - start
    return k.where(k.abs(weight) < 0.5, start + weight * far, end - far * (1 - weight))


lerp.vjp(
    start=lambda g, weight: g * cj(1 - weight), end=lambda g, weight: g * cj(weight),
    weight=lambda g, start, end: g * cj(end - start),
)


@op(promote="common", refuses="b")
def addcmul(k, x, a, b, *, value):
    return x + (a if value == 1 else value * a) * b


addcmul.vjp(x=lambda g: g, a=lambda g, b, value: g * cj(value * b), b=lambda g, a, value: g * cj(value * a))


@op(promote="common")
def addcdiv(k, x, a, b, *, value):
    return x + (a if value == 1 else value * a) / b


addcdiv.vjp(
    x=lambda g: g, a=lambda g, b, value: g * cj(value / b),
    b=lambda g, a, b, value: -g * cj(value * a / (b * b)),
)


# ---- rounding

floor = kernel_op("floor", inputs="x", promote="common", refuses="bc")
ceil = kernel_op("ceil", inputs="x", promote="common", refuses="bc")
trunc = kernel_op("trunc", inputs="x", promote="common", refuses="bc")
round_ = kernel_op("round", inputs="x", promote="common", refuses="bc")
for step in (floor, ceil, trunc, round_):
    step.vjp(x=flat)


@op(promote="common", node="RoundBackward1", refuses="bic")
def round_decimals(k, x, *, decimals):
    ten = 10.0 ** abs(decimals)
    return k.round(x * ten) / ten if decimals > 0 else k.round(x / ten) * ten


round_decimals.vjp(x=flat)


@op(promote="common", refuses="bic")
def frac(k, x):
    return x - k.trunc(x)


frac.vjp(x=lambda g: g)
