"""Pointwise kernels that NumPy lacks, or that are slow or have other semantics in NumPy."""

import numpy as np
from numpy._core import umath

from ..._fp_errors import ignore_fp_errors
from .. import NUMPY as engine
from .. import _formulas as formulas

_FLOAT32 = np.dtype(np.float32)
_SAME_SIZE_INT = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


_FEW = 256  # elements up to which a mask is tested one by one: more would be mispredicted half of the time


@engine.kernel
def keep(x, mask):
    """x where the mask holds, zero elsewhere; for many elements by bitwise arithmetic."""
    if x.size <= _FEW and type(mask) is np.ndarray and mask.shape == x.shape:
        out = np.zeros(x.shape, x.dtype) if x.flags.c_contiguous else np.zeros_like(x)
        np.putmask(out, mask, x)
        return out
    integer = _SAME_SIZE_INT.get(x.dtype.itemsize)
    if integer is None:
        return np.where(mask, x, x.dtype.type(0))
    if mask.shape != x.shape:
        return np.asarray(x.view(integer) * mask.view(np.int8)).view(x.dtype)
    out = np.empty_like(x)
    np.multiply(x.view(integer), mask.view(np.int8), out=out.view(integer))
    return out


@engine.kernel
def where(condition, x, y):
    """np.where in which a Python number takes the dtype of the other side."""
    if type(x) is not np.ndarray or type(y) is not np.ndarray:
        if not hasattr(x, "dtype") and hasattr(y, "dtype"):
            x = np.asarray(x, y.dtype)
        elif not hasattr(y, "dtype") and hasattr(x, "dtype"):
            y = np.asarray(y, x.dtype)
    elif condition.size > _FEW and condition.shape == x.shape == y.shape and x.dtype is y.dtype:
        integer = _SAME_SIZE_INT.get(x.dtype.itemsize)
        if integer is not None:
            out, y = np.empty_like(x), y.view(integer)
            bits = np.bitwise_xor(x.view(integer), y, out=out.view(integer))
            bits *= condition.view(np.int8)
            np.bitwise_xor(bits, y, out=bits)
            return out
    return np.where(condition, x, y)


# Non-finite elements make the sum non-finite, which is much faster to check than a mask.


@engine.kernel
def replace_nonfinite(x, nan, posinf, neginf):
    if x.dtype.kind != "b" and np.isfinite(engine.total(x)):
        return np.positive(x)  # a copy with the strides that other ufuncs give
    return formulas.replace_nonfinite(engine, x, nan, posinf, neginf)


@engine.kernel
def logaddexp(x, y):
    """np.logaddexp; for many finite numbers by vectorized loops."""
    if x.size <= _FEW or y.size <= _FEW or x.dtype.kind != "f":
        return np.logaddexp(x, y)
    out = x - y
    np.negative(np.abs(out, out=out), out=out)
    out = engine.log1p(np.exp(out, out=out))
    out += np.maximum(x, y)
    return out if np.isfinite(engine.total(out)) else np.logaddexp(x, y)


@engine.kernel
def lerp(start, end, weight):
    """The linear interpolation, in one temporary."""
    out = np.asarray(end - start)
    near = abs(weight) < 0.5
    out *= weight if near else 1 - weight
    return np.add(start, out, out=out) if near else np.subtract(end, out, out=out)


@engine.kernel
def to_complex(re, im):
    out = np.empty_like(np.add(re, im), np.result_type(re.dtype, np.complex64))  # in the operands' order
    out.real = re
    out.imag = im
    return out


@engine.kernel
def isreal(x):
    return x.imag == 0 if x.dtype.kind == "c" else np.ones_like(x, bool)


@engine.kernel
def sign(x):
    """The sign, 0 for NaN; for a complex number, its projection on the unit circle."""
    if x.dtype.kind == "b":
        return x.copy("K")
    if x.dtype.kind == "c":
        size = np.abs(x)
        zero = size == 0
        return to_complex(*[np.where(zero, 0, part / np.where(zero, 1, size)) for part in (x.real, x.imag)])
    s = np.asarray(np.sign(x))
    if x.dtype.kind == "f":
        nan = x != x
        if nan.any():
            s[nan] = 0
    return s


@engine.kernel
def round(x):
    return np.rint(x) if x.dtype.kind == "f" else np.positive(x)


# The ufunc behind np.clip is three times as fast as np.maximum with a number; bounds are arrays to avoid conversion.
clip = engine.kernel(getattr(umath, "clip", np.clip))
_ABOVE_ZERO = {np.dtype(t).num: (np.array(0, t), np.array(np.inf, t)) for t in (np.float32, np.float64)}


@engine.kernel
def relu(x):
    bounds = _ABOVE_ZERO.get(x.dtype.num)
    return np.maximum(x, 0) if bounds is None else clip(x, *bounds)


@engine.kernel
def sigmoid(x):
    y = np.asarray(np.negative(x))
    np.exp(y, out=y)
    y += 1
    return np.reciprocal(y, out=y)


@engine.kernel
def combine_narrow(x, y, how):
    """Adds two half-precision arrays (or applies `how`) in float32."""
    return engine.cast(getattr(np, how)(engine.cast(x, _FLOAT32), engine.cast(y, _FLOAT32)), x.dtype)


@engine.kernel
def log1p(x):
    """np.log1p, accurate for complex numbers near zero too."""
    if getattr(x, "dtype", _FLOAT32).kind != "c":
        return np.log1p(x)
    a, b = x.real, x.imag
    near = np.maximum(np.abs(a), np.abs(b)) < 0.5
    exact = np.log1p(np.where(near, a * (2 + a) + b * b, 0)) / 2
    return to_complex(np.where(near, exact, np.log(np.abs(x + 1))), np.arctan2(b, a + 1))


# ---- integers: a division by zero is an error, a negative power is not


def divisible(x, y):
    for a in (x, y):
        if hasattr(a, "dtype") and a.dtype.kind == "f":
            return
    if not np.all(y) and 0 not in np.shape(x):
        raise RuntimeError("ZeroDivisionError: integers are divided by zero; mask the divisor, or divide floats")


@engine.kernel
def floor_divide(x, y):
    divisible(x, y)
    return np.floor_divide(x, y)


@engine.kernel
def remainder(x, y):
    """The remainder with the sign of y; a zero has the sign of x, as in C."""
    divisible(x, y)
    if np.ndim(x) and not np.ndim(y) and x.dtype.kind in "iu":  # NumPy divides by one integer without dividing
        multiple = np.floor_divide(x, y)
        if multiple.dtype.kind in "iu":
            multiple *= y
            return np.subtract(x, multiple, out=multiple)
    rest = np.remainder(x, y)
    return rest if rest.dtype.kind != "f" else np.where(rest == 0, np.copysign(rest, x), rest)


@engine.kernel
def fmod(x, y):
    divisible(x, y)
    return np.fmod(x, y)


@engine.kernel
def div_trunc(x, y):
    """The quotient rounded towards zero."""
    divisible(x, y)
    if x.dtype.kind == "f" if hasattr(x, "dtype") else True:
        return np.trunc(np.divide(x, y))
    quotient = np.floor_divide(x, y)
    return quotient + ((quotient < 0) & (quotient * y != x))


@engine.kernel
def gcd(x, y):
    """np.gcd; for the lowest integer, whose magnitude overflows, the result of Euclid's algorithm in C."""
    if x.dtype.kind != "i" or not (np.any(x == np.iinfo(x.dtype).min) or np.any(y == np.iinfo(x.dtype).min)):
        return np.gcd(x, y)
    a, b = np.broadcast_arrays(np.abs(x), np.abs(y))
    while np.any(a):
        on = a != 0
        a, b = np.where(on, np.fmod(b, np.where(on, a, 1)), a), np.where(on, a, b)
    return b


@engine.kernel
def lcm(x, y):
    """The least common multiple in C arithmetic: the product wraps around, in at least 32 bits."""
    divisor = gcd(x, y)
    wide = np.int32 if x.dtype.itemsize < 4 else x.dtype
    quotient = np.floor_divide(x, np.where(divisor == 0, 1, divisor), dtype=wide)
    return np.abs(np.multiply(quotient, y, dtype=wide)).astype(x.dtype)


@engine.kernel
def power(x, y):
    """np.power; negative powers of integers are 0 unless the base is 1 or -1, and those of complex infinities are 0."""
    kind = y.dtype.kind if hasattr(y, "dtype") else ""
    if kind != "i" or not np.any(y < 0):
        powers = np.power(x, y)
        return _finite_powers(x, y, powers) if kind == "c" else powers
    x = np.asarray(x)
    odd = (y & 1).astype(bool)
    unit = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0))
    return np.where(y < 0, unit, np.power(x, np.maximum(y, 0))).astype(x.dtype)


def _finite_powers(x, y, powers):
    """Complex powers; by logarithms where NumPy, which multiplies for whole exponents, returns nan."""
    lost = np.isnan(powers)
    if not lost.any():
        return powers
    with ignore_fp_errors():
        others = np.exp(y * np.log(np.asarray(x, powers.dtype)))
        return np.where(lost & np.isfinite(others), others, powers)
