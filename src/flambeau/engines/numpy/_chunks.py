"""Evaluation of real functions over arrays of any size, in float64 and in pieces that fit the cache."""

import functools

import numpy as np

from ..._layout import elementwise_strides
from .. import NUMPY as engine

CHUNK = 8192


def special(function=None, /, *, narrow=False):
    """Decorator: turns `function`, which takes flat float64 arrays, into a kernel for real arrays of any shape.

    With `narrow`, float32 is computed in float32 instead of float64.
    """
    if function is None:
        return functools.partial(special, narrow=narrow)

    @functools.wraps(function)
    def kernel(*operands):
        x = operands[0]
        if len(operands) == 1 and type(x) is np.ndarray and x.ndim > 1 and not is_contiguous_or_expanded(x):
            return in_its_order(kernel, x)
        arrays = np.broadcast_arrays(*operands) if len(operands) > 1 else operands
        if len(arrays) > 1 and arrays[0].ndim > 1 and not all(map(is_row_major, operands)):
            return in_common_order(kernel, arrays, operands)
        given = [x.dtype for x in operands if hasattr(x, "dtype")]
        dtype = np.result_type(*given)
        wide = dtype if narrow and dtype == np.float32 else np.float64
        flat = [np.asarray(a).reshape(-1) for a in arrays]
        out = np.empty(flat[0].shape, dtype)
        for i in range(0, out.size, CHUNK):
            piece = slice(i, i + CHUNK)
            out[piece] = function(*[f[piece].astype(wide, copy=False) for f in flat])
        return out.reshape(arrays[0].shape)

    return engine.kernel(kernel)


def is_contiguous_or_expanded(x):
    """Whether the result for x is contiguous: x is, or it is expanded."""
    return x.flags.c_contiguous or 0 in x.strides


def in_its_order(kernel, x):
    """kernel(x), whose results are row-major, in the memory order of x."""
    order = np.argsort([-abs(s) for s in x.strides], kind="stable")
    return kernel(np.ascontiguousarray(x.transpose(order))).transpose(np.argsort(order))


def is_row_major(x):
    return not isinstance(x, np.ndarray) or x.flags.c_contiguous


def in_common_order(kernel, arrays, operands):
    """kernel(*arrays) of broadcast operands, in the operands' memory order."""
    layouts = [(x.shape, x.strides) for x in operands if isinstance(x, np.ndarray)]
    strides = elementwise_strides(arrays[0].shape, layouts)
    order = np.argsort([-s for s in strides], kind="stable")
    rows = [np.ascontiguousarray(x.transpose(order)) if isinstance(own, np.ndarray) else own
            for x, own in zip(arrays, operands)]
    return kernel(*rows).transpose(np.argsort(order))


def series(coefficients, t):
    """A Chebyshev series at t, by Clenshaw's recurrence."""
    c = shorten(coefficients) if t.dtype == np.float32 else coefficients
    twice = t + t
    b1, b2, spare = np.full_like(t, c[-1]), np.zeros_like(t), np.empty_like(t)
    for coefficient in c[-2:0:-1]:
        np.multiply(twice, b1, out=spare)
        spare -= b2
        spare += coefficient
        b1, b2, spare = spare, b1, b2
    return t * b1 - b2 + c[0]


@functools.cache
def shorten(coefficients):
    """The terms of a series that matter in float32."""
    size = max(map(abs, coefficients))
    seen = [i for i, c in enumerate(coefficients) if abs(c) > 1e-8 * size]
    return coefficients[: seen[-1] + 1]


def pieces(x, *branches, other=np.nan):
    """A piecewise function, given by (mask, function) pairs; `other` elsewhere."""
    out = np.full(x.shape, other)
    for mask, function in branches:
        if mask.any():
            out[mask] = function(x[mask])
    return out
