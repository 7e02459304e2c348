"""Reduction kernels."""

import functools
import math

import numpy as np

from ..._dtypes import BOOL_TYPE, FIRST_FLOAT, FIRST_HALF
from .. import NUMPY as engine
from .. import _formulas as formulas

_add, _times, _larger, _smaller = np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce
_FLOAT32, _INT64 = np.dtype(np.float32), np.dtype(np.int64)
_FEW = 512
_BIG = 2048  # elements from which NumPy's own way to add is slower than ours
_CHUNK = 500  # elements per partial sum, for accuracy
_OF_MATRIX = {0: 0, (0,): 0, -2: 0, 1: 1, (1,): 1, -1: 1}  # selects an axis of a matrix
_WIDER = {"f": np.float64, "F": np.complex128}
_ONES = {np.dtype(t).num: np.ones(_CHUNK, t) for t in (np.float32, np.float64)}


@engine.kernel
def sum(x, axis=None, keepdims=False, dtype=None):
    """The sum: half precision in float32, contiguous floats by einsum or BLAS."""
    own = x.dtype
    if dtype is None or dtype is own:
        ones, n = _ONES.get(own.num), x.size
        if ones is not None:
            if axis is None and not keepdims:
                return total(x)
            if n < _BIG and x.ndim == 2 and axis in _OF_MATRIX and x.shape[_OF_MATRIX[axis]] <= _CHUNK:
                last = _OF_MATRIX[axis]
                ones = ones[: x.shape[last]]
                out = x.dot(ones) if last else ones.dot(x)
                return out if not keepdims else out.reshape((-1, 1) if last else (1, -1))
            if n >= _BIG and axis != () and x.flags.c_contiguous:
                return _sum_along(x, range(x.ndim) if axis is None else axis, keepdims, ones)
    to = own if dtype is None else dtype
    if to.num >= FIRST_HALF:
        return engine.cast(engine.sum(_widen(x), axis, keepdims), to)
    return _add(x, axis, dtype, None, keepdims)


def _widen(x):
    """x in float32."""
    return x if x.dtype is _FLOAT32 else engine.cast(x, _FLOAT32)


@engine.kernel
def total(x):
    """The sum of all elements: integers in int64, half precision in float32."""
    dtype, n = x.dtype, x.size
    ones = _ONES.get(dtype.num)
    if dtype.num >= FIRST_HALF:
        return engine.cast(np.asarray(engine.total(_widen(x))), dtype)
    if ones is None:
        return _add(x, None, None if dtype.num >= FIRST_FLOAT else _INT64)
    if n <= _CHUNK:
        out = np.empty((), dtype)
        x.ravel().dot(ones[:n], out)
        return out
    return _sum_of_vector(x.reshape(-1), ones) if x.flags.c_contiguous else _add(x, None)


def _sum_of_vector(x, ones):
    n = x.size
    if n <= _CHUNK:
        return x.dot(ones[:n])
    whole = n // _CHUNK * _CHUNK
    total = _sum_of_vector(x[:whole].reshape(-1, _CHUNK).dot(ones), ones)
    return total if whole == n else total + x[whole:].dot(ones[: n - whole])


def _sum_along(x, axes, keepdims, ones):
    shape, ndim = x.shape, x.ndim
    axes = (axes,) if isinstance(axes, int) else axes
    folded = [i in axes or i - ndim in axes for i in range(ndim)]
    left = [1 if f else n for n, f in zip(shape, folded)]
    stop = ndim
    while stop:  # runs of adjacent axes, the last one first: each is the middle one of three dimensions
        start = stop
        while start and folded[start - 1]:
            start -= 1
        if start < stop:
            view = (math.prod(shape[:start]), math.prod(shape[start:stop]), math.prod(left[stop:]))
            x = _sum_of_middle(x.reshape(view), ones)
        stop = start - 1 if start else 0
    return x.reshape(left if keepdims else [n for n, f in zip(shape, folded) if not f])


def _sum_of_middle(x, ones):
    lead, n, trail = x.shape
    if lead == trail == 1:
        return _sum_of_vector(x.reshape(n), ones)
    part = _part_of(n)
    if part < 16 and part < n:
        return _add(x, 1)
    if trail > 1:
        x = ones[:part] @ x.reshape(-1, part, trail)
    elif part < 128:
        x = x.reshape(-1, part).dot(ones[:part])
    else:
        x = np.einsum("ij->i", x.reshape(-1, part))
    return x if part == n else _sum_of_middle(x.reshape(lead, n // part, trail), ones)


@functools.lru_cache(1024)
def _part_of(n):
    """The largest divisor of n that is not larger than a chunk."""
    return next(part for part in range(n if n < _CHUNK else _CHUNK, 0, -1) if n % part == 0)


@engine.kernel
def mean(x, axis=None, keepdims=False, dtype=None):
    to = x.dtype if dtype is None else dtype
    if to.num >= FIRST_HALF:
        return engine.cast(engine.sum(_widen(x), axis, keepdims) / _count_reduced(x.shape, axis), to)
    return sum(x, axis, keepdims, to) / _count_reduced(x.shape, axis)


def _count_reduced(shape, axis):
    """The number of elements in each result of a reduction."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[i] for i in (axis if isinstance(axis, tuple) else (axis,)))


@engine.kernel
def prod(x, axis=None, keepdims=False, dtype=None):
    to = x.dtype if dtype is None else dtype
    if to.num >= FIRST_HALF:
        return engine.cast(engine.prod(_widen(x), axis, keepdims), to)
    return _times(x, axis, to, None, keepdims)


# For a few elements, searching takes half the time of a reduction.


@engine.kernel
def max(x, axis=None, keepdims=False):
    if axis is None and not keepdims and x.size < _FEW:
        x = x.ravel()
        return x[x.argmax()]
    return _larger(x, axis, None, None, keepdims)


@engine.kernel
def min(x, axis=None, keepdims=False):
    if axis is None and not keepdims and x.size < _FEW:
        x = x.ravel()
        return x[x.argmin()]
    return _smaller(x, axis, None, None, keepdims)


@engine.kernel
def argmax(x, axis=None, keepdims=False):
    return x.argmax(axis, keepdims=keepdims)


@engine.kernel
def argmin(x, axis=None, keepdims=False):
    return x.argmin(axis, keepdims=keepdims)


@engine.kernel
def all(x, axis=None, keepdims=False):
    if axis is None and not keepdims and 0 < x.size < _FEW and x.dtype.num == BOOL_TYPE:
        x = x.ravel()
        return x[x.argmin()]
    return np.logical_and.reduce(x, axis, None, None, keepdims)


@engine.kernel
def any(x, axis=None, keepdims=False):
    if axis is None and not keepdims and 0 < x.size < _FEW and x.dtype.num == BOOL_TYPE:
        x = x.ravel()
        return x[x.argmax()]
    return np.logical_or.reduce(x, axis, None, None, keepdims)


@engine.kernel
def sum_of_numbers(x, axis, keepdims, dtype):
    """The sum of the elements that are not NaN."""
    found = engine.sum(x, axis, keepdims, dtype)
    return formulas.sum_of_numbers(engine, x, axis, keepdims, dtype) if np.isnan(found).any() else found


@engine.kernel
def variance(x, axis, keepdims, correction):
    """The sum of squared deviations from the mean, over n - correction."""
    if x.size <= _FEW and x.dtype is _FLOAT32:
        return _variance_in_double(x, axis, keepdims, correction).astype(_FLOAT32)
    found = _variance(x, axis, keepdims, correction)
    wider = _WIDER.get(x.dtype.char)
    if wider is None or np.isfinite(found).all():
        return found
    return _variance(x.astype(wider), axis, keepdims, correction).astype(found.dtype)


@engine.kernel
def deviation(x, axis, keepdims, correction):
    """The root of the variance, also where that overflows or underflows."""
    if x.size <= _FEW and x.dtype is _FLOAT32:
        return np.sqrt(_variance_in_double(x, axis, keepdims, correction)).astype(_FLOAT32)
    found = _variance(x, axis, keepdims, correction)
    wider = _WIDER.get(x.dtype.char)
    if wider is None or (np.isfinite(found) & (found >= np.finfo(found.dtype).tiny)).all():
        return np.sqrt(found)
    return np.sqrt(_variance(x.astype(wider), axis, keepdims, correction)).astype(found.dtype)


def _variance_in_double(x, axis, keepdims, correction):
    n = _count_reduced(x.shape, axis)
    x = x.astype(np.float64)
    x -= _add(x, axis, None, None, True) / n
    x *= x
    return _add(x, axis, None, None, keepdims) / (n - correction if n > correction else 0)


def _variance(x, axis, keepdims, correction):
    n = _count_reduced(x.shape, axis)
    mean = sum(x, axis, True) / n
    away = x - mean
    total = _sum_of_squares(away, axis)
    if (total < 1e-4 * n * np.abs(mean) ** 2).any():  # the last digit of the mean matters
        total = _sum_of_squares(away - sum(away, axis, True) / n, axis)
    found = total / total.dtype.type(n - correction if n > correction else 0)
    return found if keepdims else found.reshape(_without(x.shape, axis))


def _sum_of_squares(x, axis):
    if x.dtype.kind == "c":
        x = np.abs(x)
    return sum(x * x, axis, True)


@engine.kernel
def logsumexp(x, axis, keepdims):
    if x.size == 0:
        return np.log(sum(x, axis, keepdims))
    top = _larger(x.real, axis, None, None, True)
    top = np.where(np.isfinite(top), top, 0).astype(x.real.dtype, copy=False)
    e = np.asarray(x - top)
    np.exp(e, out=e)
    out = np.log(sum(e, axis, True)) + top
    return out if keepdims else out.reshape(_without(x.shape, axis))


def _without(shape, axis):
    if axis is None:
        return ()
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(n for i, n in enumerate(shape) if i not in axes)


@engine.kernel
def softmax(x, axis):
    if x.size == 0 or x.ndim == 0:
        return np.asarray(x - x + x.dtype.type(1))
    e = x - _larger(x, axis, None, None, True)
    np.exp(e, out=e)
    e /= sum(e, axis, True)
    return e


@engine.kernel
def log_softmax(x, axis):
    if x.size == 0 or x.ndim == 0:
        return np.asarray(x - x)
    out = x - _larger(x, axis, None, None, True)
    out -= np.log(sum(np.exp(out), axis, True))
    return out


@engine.kernel
def softmax_pull(g, out, axis):
    """The gradient of softmax: out * (g - sum(g * out))."""
    if out.ndim == 0:
        return np.asarray((g - g * out) * out)
    grad = g * out
    total = sum(grad, axis, True)
    return np.subtract(grad, np.multiply(out, total), out=grad)


@engine.kernel
def log_softmax_pull(g, out, axis):
    """The gradient of log_softmax: g - exp(out) * sum(g)."""
    if out.ndim == 0:
        return np.asarray(g - np.exp(out) * g)
    grad = np.exp(out)
    grad *= sum(g, axis, True)
    return np.subtract(g, grad, out=grad)


@engine.kernel
def norm2(x, axis, keepdims):
    """The Euclidean norm."""
    if axis is None and x.dtype.kind == "f" and x.flags.c_contiguous:
        flat = x.reshape(-1)
        return np.sqrt(flat @ flat).reshape((1,) * x.ndim if keepdims else ())
    a = np.abs(x) if x.dtype.kind == "c" else x
    return np.sqrt(sum(a * a, axis, keepdims))


@engine.kernel
def take_along(x, index, axis):
    """np.take_along_axis with valid indices."""
    if x.ndim == 1:
        return x.take(index)
    own, shape = x.shape, index.shape
    if index.dtype is _INT64 and own[:axis] == shape[:axis] and own[axis + 1:] == shape[axis + 1:]:
        return engine.gather(x, index, axis)
    return np.take_along_axis(x, index, axis)


@engine.kernel
def put_along(g, index, axis, shape):
    """Zeros of `shape` with g at `index` along `axis`; indices are distinct."""
    out = np.zeros(shape, g.dtype)
    np.put_along_axis(out, index, g, axis)
    return out
