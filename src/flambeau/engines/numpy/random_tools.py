"""Helpers of random kernels: conversion of words to numbers, filling of arrays, rounding and checks as in C."""

import functools
import itertools
import math
import operator
import types

import ml_dtypes
import numpy as np

from ..._fp_errors import call_without_fp_warnings
from ..._modes import in_use, modes
from .. import NUMPY as engine
from .memory import NO_MEMORY_FOR

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALF = (np.dtype(np.float16), BFLOAT16)

# PyTorch's names of element types: in C++ for bounds, as scalar types for kernels that do not exist.
NAMES = {
    np.dtype(t): names
    for t, names in {
        np.uint8: ("unsigned char", "Byte"),
        np.int8: ("signed char", "Char"),
        np.int16: ("short int", "Short"),
        np.int32: ("int", "Int"),
        np.int64: ("long int", "Long"),
        np.uint16: ("short unsigned int", "UInt16"),
        np.uint32: ("unsigned int", "UInt32"),
        np.uint64: ("long unsigned int", "UInt64"),
        np.bool_: ("bool", "Bool"),
        np.float16: ("c10::Half", "Half"),
        BFLOAT16: ("c10::BFloat16", "BFloat16"),
        np.float32: ("float", "Float"),
        np.float64: ("double", "Double"),
        np.complex64: ("c10::complex<float>", "ComplexFloat"),
        np.complex128: ("c10::complex<double>", "ComplexDouble"),
        ml_dtypes.float8_e4m3fn: ("c10::Float8_e4m3fn", "Float8_e4m3fn"),
        ml_dtypes.float8_e5m2: ("c10::Float8_e5m2", "Float8_e5m2"),
    }.items()
}
FLOATS = (*HALF, np.dtype(np.float32), np.dtype(np.float64))
CLASSIC_INTS = tuple(map(np.dtype, (np.uint8, np.int8, np.int16, np.int32, np.int64)))
UNSIGNED_INTS = tuple(map(np.dtype, (np.uint16, np.uint32, np.uint64)))
BOOL = (np.dtype(np.bool_),)

# Significant bits: all integers up to 2**digits are representable.
DIGITS = {np.dtype(np.float16): 11, BFLOAT16: 8, np.dtype(np.float32): 24, np.dtype(np.float64): 53}

LARGEST = {dtype: float(ml_dtypes.finfo(dtype).max) for dtype in FLOATS}

# Draws are made in pieces that fit in the cache; a multiple of 16, see fill_normal.
PIECE = 1 << 14

# Logarithms, sines and so on of float64 draws up to this size come from the C library, as in PyTorch; those of
# larger ones from NumPy's vector functions, which are several times as fast, and sometimes an ulp off.
EXACT_UP_TO = 1 << 10


def draw(kernel):
    """Decorator for random kernels: locks the generator and, as in C, suppresses warnings."""

    @functools.wraps(kernel)
    def alone(generator, *args, **kwargs):
        if in_use.traced and modes.tracer.active:
            return modes.tracer.draw(alone, generator, args, kwargs)
        with generator._lock:
            try:
                function = functools.partial(kernel, **kwargs) if kwargs else kernel
                return call_without_fp_warnings(function, generator, *args)
            except (MemoryError, ValueError) as error:  # NumPy raises ValueError if the size exceeds the address space
                raise RuntimeError(NO_MEMORY_FOR.format(name=kernel.__name__, cause=error)) from None

    return engine.kernel(alone)


def require(array, dtypes, kernel):
    if array.dtype not in dtypes:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES[array.dtype][1]}'")


def check(condition, message, *numbers):
    """Raises PyTorch's error unless the condition holds; numbers print as in C++."""
    if not condition:
        raise RuntimeError(message.format(*(f"{x:g}" if isinstance(x, float) else x for x in numbers)))


# Words to numbers in [0, 1)


_LOW24, _LOW53 = np.uint64(2**24 - 1), np.uint64(2**53 - 1)


def floats(generator, n):
    """``n`` float32 numbers in [0, 1), one word each."""
    words = generator._words32(n)
    words &= _LOW24
    units = words.view(np.int64).astype(np.float32)
    units *= 2.0**-24
    return units


def doubles(generator, n):
    """``n`` float64 numbers in [0, 1), two words each."""
    units = bits53(generator, n).view(np.int64).astype(np.float64)
    units *= 2.0**-53
    return units


def bits53(generator, n):
    words = generator._words64(n)
    words &= _LOW53
    return words


# Numbers into arrays


def memory_order(out):
    """The dimensions of ``out`` by decreasing stride."""
    return sorted(range(out.ndim), key=lambda d: -abs(out.strides[d]))


def fill(out, fill_piece):
    """Makes ``fill_piece`` fill consecutive flat pieces of ``out``."""
    ordered = out if out.flags.c_contiguous else out.transpose(memory_order(out))
    in_place = ordered.flags.c_contiguous
    flat = ordered.reshape(-1) if in_place else np.empty(out.size, out.dtype)
    for start in range(0, flat.size, PIECE):
        fill_piece(flat[start : start + PIECE])
    if not in_place:
        ordered[...] = flat.reshape(ordered.shape)
    return out


def fill_from_doubles(generator, out, function):
    """Fills ``out`` with ``function(u)`` for float64 numbers u in [0, 1)."""

    def piece(flat):
        store(flat, function(doubles(generator, flat.size)))

    return fill(out, piece)


def store(flat, values):
    """Rounds to the array's type; as in C++, doubles are rounded to float before half."""
    if flat.dtype in HALF:
        values = values.astype(np.float32)
    np.copyto(flat, values, casting="unsafe")


def functions_for(out):
    """The source of ``log``, ``cos`` and so on: the C library if the last bit matters, else NumPy."""
    return _C_LIBRARY if out.dtype == np.float64 and out.size <= EXACT_UP_TO else np


def _one_by_one(name, x):
    try:
        return np.fromiter(map(getattr(math, name), x.tolist()), np.float64, x.size)
    except (OverflowError, ValueError):  # Python raises where C returns inf or NaN
        return getattr(np, name)(x)


_C_LIBRARY = types.SimpleNamespace(
    **{name: functools.partial(_one_by_one, name) for name in ("exp", "log", "log1p", "sin", "cos", "tan")}
)


def scale_and_shift(x, scale, shift):
    """``x * scale + shift`` with a single rounding, for float32 or float64 ``x``, which is overwritten."""
    if shift == 0:
        x *= x.dtype.type(scale)
        return x
    if x.dtype == np.float32:
        wide = x.astype(np.float64)
        wide *= np.float32(scale)
        wide += np.float32(shift)
        return wide.astype(np.float32)
    return _fused64(x, scale, shift)


def _fused64(x, scale, shift):
    product = x * scale
    mantissa, exponent = math.frexp(scale)
    if abs(mantissa) == 0.5 or not math.isfinite(scale):
        product += shift
        return product
    if exponent > 1020:  # the halves would overflow
        return 16.0 * _fused64(x, scale / 16, shift / 16)
    # The product's rounding error, by Dekker: halves of 26 bits multiply exactly.
    scale_high = math.ldexp(round(math.ldexp(mantissa, 26)), exponent - 26)
    scale_low = scale - scale_high
    high = x * (2.0**27 + 1)
    high -= high - x
    low = x - high
    error = high * scale_high
    error -= product
    error += np.multiply(high, scale_low, out=high)
    error += np.multiply(low, scale_high, out=high)
    error += np.multiply(low, scale_low, out=low)
    # The sum's rounding error, by Knuth.
    total = product + shift
    shifted = np.subtract(total, product, out=low)
    product -= np.subtract(total, shifted, out=high)
    error += product
    error += np.subtract(shift, shifted, out=shifted)
    total += error
    return total


class Units:
    """float64 numbers in [0, 1) one by one, for samplers that cannot tell in advance how many they need.

    Words are drawn in bulk; on leaving the ``with`` block, unused ones are returned.
    """

    def __init__(self, generator, expected):
        self._generator = generator
        self._chunk = min(max(expected, 64), 1 << 16)
        self.next = itertools.chain.from_iterable(self._chunks()).__next__

    def _chunks(self):
        while True:
            self._start = self._generator._mark()
            self._pending = iter(doubles(self._generator, self._chunk).tolist())
            yield self._pending

    def __enter__(self):
        self._pending = None
        return self

    def __exit__(self, *error):
        if self._pending is not None:
            self._generator._rewind(self._start)
            self._generator._skip32(2 * (self._chunk - operator.length_hint(self._pending)))


def normal_source(generator, uniform):
    """Standard float64 normals one by one; the generator keeps the unused half of a pair for the next draw."""

    def normal():
        kept = generator._next_normal
        if kept is not None:
            generator._next_normal = None
            return kept
        angle = 2 * math.pi * uniform()
        radius = math.sqrt(-2 * math.log1p(-uniform()))
        generator._next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    return normal
