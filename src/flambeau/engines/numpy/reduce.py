"""Kernels that fold dimensions."""

from __future__ import annotations

import math

import numpy as np

from .. import NUMPY as engine

_add, _times, _larger, _smaller = np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce
_BIG = 8192  # elements from which BLAS adds faster than NumPy
_FLOAT32 = np.dtype(np.float32)
_CHUNK = 1024  # how many elements BLAS adds in a row: the sums of chunks are added apart, for a small error


@engine.kernel
def sum(x, axis=None, keepdims=False, dtype=None):
    """The sum: halves add up in float32, large float arrays through BLAS."""
    own = x.dtype
    to = own if dtype is None else dtype
    if to.num > 22:
        return _add(x.astype(np.float32, copy=False), axis, None, None, keepdims).astype(to)
    if x.size >= _BIG and to is own and own.char in "fd" and axis != () and x.flags.c_contiguous:
        return _sum_by_blas(x, axis, keepdims)
    return _add(x, axis, dtype, None, keepdims)


def _sum_by_blas(x, axis, keepdims):
    shape, ndim = x.shape, x.ndim
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    folded = [i in axes or i - ndim in axes for i in range(ndim)]
    left = [1 if f else n for n, f in zip(shape, folded, strict=True)]
    stop = ndim
    while stop:  # runs of neighbouring axes, the last one first: each is the middle of three dimensions
        start = stop
        while start and folded[start - 1]:
            start -= 1
        if start < stop:
            view = (math.prod(shape[:start]), math.prod(shape[start:stop]), math.prod(left[stop:]))
            x = _sum_of_middle(x.reshape(view))
        stop = start - 1 if start else 0
    return x.reshape(left if keepdims else [n for n, f in zip(shape, folded, strict=True) if not f])


def _sum_of_middle(x):
    lead, n, trail = x.shape
    if x.size < _BIG or (trail > 1 and n * trail < _CHUNK):
        return _add(x, 1)
    if n <= _CHUNK:
        return _times_ones(x)
    whole = n // _CHUNK * _CHUNK
    total = _sum_of_middle(_times_ones(x[:, :whole].reshape(lead, -1, _CHUNK, trail)))
    return total if whole == n else total + _add(x[:, whole:], 1)


def _times_ones(x):
    """The sum over the last but one dimension as a matrix-vector product."""
    ones = np.ones(x.shape[-2], x.dtype)
    return (x[..., 0] @ ones)[..., None] if x.shape[-1] == 1 else ones @ x


@engine.kernel
def mean(x, axis=None, keepdims=False, dtype=None):
    to = x.dtype if dtype is None else dtype
    if to.num > 22:
        return (sum(x, axis, keepdims, _FLOAT32) / _folded(x.shape, axis)).astype(to)
    return sum(x, axis, keepdims, to) / _folded(x.shape, axis)


def _folded(shape, axis):
    """How many elements go into each result of a reduction."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[i] for i in (axis if isinstance(axis, tuple) else (axis,)))


@engine.kernel
def prod(x, axis=None, keepdims=False, dtype=None):
    to = x.dtype if dtype is None else dtype
    if to.num > 22:
        return _times(x.astype(np.float32), axis, None, None, keepdims).astype(to)
    return _times(x, axis, to, None, keepdims)


@engine.kernel
def max(x, axis=None, keepdims=False):
    return _larger(x, axis, None, None, keepdims)


@engine.kernel
def min(x, axis=None, keepdims=False):
    return _smaller(x, axis, None, None, keepdims)


@engine.kernel
def all(x, axis=None, keepdims=False):
    return np.logical_and.reduce(x, axis, None, None, keepdims)


@engine.kernel
def any(x, axis=None, keepdims=False):
    return np.logical_or.reduce(x, axis, None, None, keepdims)


@engine.kernel
def variance(x, axis, keepdims, correction):
    """The mean of squared distances from the mean, over n - correction."""
    n = _folded(x.shape, axis)
    away = x - sum(x, axis, True) / n
    if away.dtype.kind == "c":
        away = np.abs(away)
    total = sum(away * away, axis, keepdims)
    return total / total.dtype.type(n - correction if n > correction else 0)


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
        return np.ones_like(x)
    e = x - _larger(x, axis, None, None, True)
    np.exp(e, out=e)
    e /= sum(e, axis, True)
    return e


@engine.kernel
def log_softmax(x, axis):
    if x.size == 0 or x.ndim == 0:
        return np.zeros_like(x)
    out = x - _larger(x, axis, None, None, True)
    out -= np.log(sum(np.exp(out), axis, True))
    return out


@engine.kernel
def softmax_pull(g, out, axis):
    """The gradient of softmax: out * (g - sum(g * out))."""
    if out.ndim == 0:
        return np.zeros_like(g)
    grad = g * out
    total = sum(grad, axis, True)
    return np.subtract(grad, np.multiply(out, total), out=grad)


@engine.kernel
def log_softmax_pull(g, out, axis):
    """The gradient of log_softmax: g - exp(out) * sum(g)."""
    if out.ndim == 0:
        return np.zeros_like(g)
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
    """np.take_along_axis, faster for the last axis."""
    if x.ndim == 1:
        return x.take(index)
    if axis != x.ndim - 1 or not x.size or not x.flags.c_contiguous:
        return np.take_along_axis(x, index, axis)
    starts = np.arange(0, x.size, x.shape[-1]).reshape(*x.shape[:-1], 1)
    return x.reshape(-1).take(index + starts)


@engine.kernel
def put_along(g, index, axis, shape):
    """Zeros of `shape` with g at `index` along `axis`; no index comes twice."""
    out = np.zeros(shape, g.dtype)
    np.put_along_axis(out, index, g, axis)
    return out
