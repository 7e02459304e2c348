"""The arrays of the meta engine, with a shape and a dtype but no memory.

A MetaArray is a NumPy array whose elements are all the same one. It implements NumPy's protocols, so kernels written
with NumPy functions map MetaArrays to MetaArrays: pointwise functions and reductions by rule, views unchanged. Other
functions run on small stand-ins: arrays of zeros.
"""

import math

import numpy as np

from ._probe import STEP, extrapolate
from .numpy.memory import check_shape

LIMIT = 1 << 20  # the maximal number of elements in full-size stand-ins
PROBE_LIMIT = 1 << 23  # the maximal number of elements in smaller stand-ins, used otherwise
TOO_BIG = (
    "{name} has no rule for meta tensors, and the shape of its result could not be found with smaller ones in the "
    "place of {operands}. Use smaller shapes, or run it on device='cpu'."
)
MIXED = (
    "Tensor on device cpu is not on the expected device meta! Found operands of shape {meta} (meta) and {cpu} (cpu)."
)

NO_DATA = (
    "Cannot copy out of meta tensor; no data! The values are needed here, and a meta tensor has none. Make real memory "
    "first: Tensor.new_empty, or Module.to_empty."
)
DATA_DEPENDENT = "{name} cannot run on meta tensors: the shape or value of its result depends on data they do not have"

_ELEMENT = bytearray(16)  # the element of all MetaArrays

# NumPy functions that are views, or are written in terms of other functions that have a rule.
_COMPOSED = {
    np.transpose, np.reshape, np.ravel, np.moveaxis, np.swapaxes, np.rollaxis, np.squeeze, np.expand_dims, np.flip,
    np.split, np.array_split, np.diagonal, np.real, np.imag, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.sum,
    np.prod, np.max, np.min, np.amax, np.amin, np.all, np.any, np.mean, np.var, np.std, np.stack, np.vstack, np.hstack,
    np.column_stack, np.tensordot, np.broadcast_arrays, np.shape, np.ndim, np.size, np.iscomplexobj, np.clip,
    np.count_nonzero, np.outer,
}
_SAME = {np.sort, np.cumsum, np.cumprod, np.roll, np.nan_to_num, np.around, np.round, np.copy, np.tril, np.triu, np.fix}
_DATA_DEPENDENT = {np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.array_equal, np.allclose, np.bincount,
                   np.extract, np.histogram}
_LIKE = {np.zeros_like, np.ones_like, np.empty_like, np.full_like}


class MetaArray(np.ndarray):
    """An array without memory: all elements share one address.

    ``layout`` is its memory layout: (strides, offset), in elements; None means row-major.
    """

    layout = None

    def __new__(cls, shape, dtype):
        try:
            return np.ndarray.__new__(cls, shape, dtype, _ELEMENT, strides=(0,) * len(shape))
        except ValueError:
            check_shape(shape, dtype)
            raise

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        check_not_mixed(inputs)
        result = _ufunc(ufunc, method, inputs, kwargs)
        return result if out is None else out[0] if len(out) == 1 else out

    def __array_function__(self, func, types, args, kwargs):
        if func in _DATA_DEPENDENT:
            raise NotImplementedError(DATA_DEPENDENT.format(name=func.__name__))
        rule = _RULES.get(func)
        if rule is not None:
            return rule(*args, **kwargs)
        if func in _COMPOSED:
            return super().__array_function__(func, types, args, kwargs)
        return run_on_stand_ins(func, func.__name__, args, kwargs)

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        return MetaArray(self.shape, np.dtype(dtype))

    def copy(self, order="C"):
        return MetaArray(self.shape, self.dtype)

    def fill(self, value):
        pass

    def _no_data(self, *_, **__):
        raise NotImplementedError(NO_DATA)

    __bool__ = __int__ = __float__ = __index__ = item = tolist = nonzero = _no_data

    def __getitem__(self, key):
        if _is_basic(key):
            found = super().__getitem__(key)
            return found if isinstance(found, MetaArray) else MetaArray((), self.dtype)
        return run_on_stand_ins(lambda a, key: a[key], "indexing with tensors", (self, key), {})

    def __setitem__(self, key, value):
        into = self[key]
        if np.broadcast_shapes(into.shape, np.shape(value)) != into.shape:
            raise ValueError(f"could not broadcast from shape {np.shape(value)} into shape {into.shape}")


def check_not_mixed(operands):
    """Raises for a mix of meta and other arrays; only zero-dimensional ones are allowed."""
    metas = [x for x in operands if isinstance(x, MetaArray)]
    for x in operands:
        if isinstance(x, np.ndarray) and not isinstance(x, MetaArray) and x.ndim and metas:
            raise RuntimeError(MIXED.format(meta=list(metas[0].shape), cpu=list(x.shape)))


def _is_basic(key):
    return not any(isinstance(k, (np.ndarray, list)) for k in (key if isinstance(key, tuple) else (key,)))


# ---- ufuncs


def _ufunc(ufunc, method, inputs, kwargs):
    kwargs = {k: v for k, v in kwargs.items() if k != "where"}
    if method == "__call__":
        if ufunc is np.matmul:
            return matmul(*inputs)
        if ufunc.signature is not None:
            return run_on_stand_ins(ufunc, ufunc.__name__, inputs, kwargs)
        shape = np.broadcast_shapes(*[np.shape(x) for x in inputs])
        return _with_shape(ufunc(*[_one(x) for x in inputs], **kwargs), shape)
    if method == "reduce":
        return _reduce(ufunc, *inputs, **kwargs)
    if method == "accumulate":
        return _with_shape(ufunc.accumulate(np.ones(1, inputs[0].dtype), dtype=kwargs.get("dtype")), inputs[0].shape)
    if method == "at":
        return None
    return run_on_stand_ins(getattr(ufunc, method), f"{ufunc.__name__}.{method}", inputs, kwargs)


def _one(x):
    """An operand with one element, of the same dtype; Python numbers keep their own weaker kind."""
    return np.ones(1, x.dtype) if isinstance(x, (np.ndarray, np.generic)) else x


def _with_shape(result, shape):
    if type(result) is tuple:
        return tuple(MetaArray(shape, r.dtype) for r in result)
    return MetaArray(shape, np.asarray(result).dtype)


def _reduce(ufunc, x, axis=0, dtype=None, keepdims=False, initial=None):
    one = ufunc.reduce(np.ones(1, x.dtype), dtype=dtype)
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = {a % x.ndim for a in axes} if x.ndim else set()
    if initial is None and ufunc.identity is None and any(x.shape[a] == 0 for a in axes):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return MetaArray(tuple(shape), np.asarray(one).dtype)


def matmul(a, b):
    dtype = np.matmul(np.ones((1, 1), a.dtype), np.ones((1, 1), b.dtype)).dtype
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else -1]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not match")
    return MetaArray(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + rows + columns, dtype)


# ---- NumPy functions


def _like(a, fill_value=None, dtype=None, order="K", subok=True, shape=None, **_):
    return MetaArray(a.shape if shape is None else shape, np.dtype(dtype or a.dtype))


def _broadcast_to(a, shape, subok=False):
    if np.broadcast_shapes(a.shape, shape) != tuple(shape):
        raise ValueError(f"cannot broadcast {a.shape} to {shape}")
    return MetaArray(tuple(shape), a.dtype)


def _where(condition, x, y):
    check_not_mixed([condition, x, y])
    shape = np.broadcast_shapes(*[np.shape(v) for v in (condition, x, y)])
    return _with_shape(np.where([True], _one(x), _one(y)), shape)


def _concatenate(arrays, axis=0, **_):
    check_not_mixed(arrays)
    first = arrays[0]
    axis %= first.ndim
    for a in arrays[1:]:
        if a.ndim != first.ndim or any(m != n for i, (m, n) in enumerate(zip(a.shape, first.shape)) if i != axis):
            raise ValueError(f"concatenate: shapes {first.shape} and {a.shape} differ outside axis {axis}")
    length = sum(a.shape[axis] for a in arrays)
    dtype = np.result_type(*[a.dtype for a in arrays])
    return MetaArray((*first.shape[:axis], length, *first.shape[axis + 1:]), dtype)


def _einsum(subscripts, *operands, **_):
    terms, arrow, result = subscripts.replace(" ", "").partition("->")
    if not arrow or "." in subscripts:
        return run_on_stand_ins(np.einsum, "einsum", (subscripts, *operands), {})
    sizes = {}
    for term, x in zip(terms.split(","), operands, strict=True):
        for label, n in zip(term, x.shape, strict=True):
            if sizes.setdefault(label, n) != n and 1 not in (n, sizes[label]):
                raise ValueError(f"einsum: {label!r} is {sizes[label]} and {n} in {subscripts}")
            sizes[label] = max(n, sizes[label])
    return MetaArray(tuple(sizes[label] for label in result), np.result_type(*[x.dtype for x in operands]))


def _dot(a, b, out=None):
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    inner = b.shape[-2 if b.ndim > 1 else -1]
    if a.shape[-1] != inner:
        raise ValueError(f"dot: shapes {a.shape} and {b.shape} do not match")
    shape = (*a.shape[:-1], *b.shape[:-2], *(b.shape[-1:] if b.ndim > 1 else ()))
    return MetaArray(shape, np.result_type(a.dtype, b.dtype))


_RULES = {
    **dict.fromkeys(_LIKE, _like),
    **dict.fromkeys(_SAME, lambda a, *args, **kwargs: MetaArray(a.shape, np.dtype(kwargs.get("dtype") or a.dtype))),
    np.argsort: lambda a, *args, **kwargs: MetaArray(a.shape, np.dtype(np.intp)),
    np.broadcast_to: _broadcast_to,
    np.where: _where, np.concatenate: _concatenate, np.einsum: _einsum, np.dot: _dot,
    np.copyto: lambda into, x, **_: into.__setitem__(..., x),
    np.result_type: lambda *xs: np.result_type(*[x.dtype if isinstance(x, np.ndarray) else x for x in xs]),
}


# ---- stand-ins


def run_on_stand_ins(function, name, args, kwargs):
    """Runs a function on zeros in place of meta arrays; returns its results as meta arrays.

    If these would be big, smaller ones are used, and the shapes of the results are extrapolated.
    """
    metas = list(_metas([*args, *kwargs.values()]))
    sizes = sorted({n for x in metas for n in x.shape})

    def run_at(point):
        if sum(math.prod(point[n] for n in x.shape) for x in metas) > PROBE_LIMIT:
            raise _TooBig
        return function(*[_zeros(x, point) for x in args], **{k: _zeros(v, point) for k, v in kwargs.items()})

    if sum(x.size for x in metas) <= LIMIT:
        return _as_meta(run_at({n: n for n in sizes}))
    cause = None
    least = max((n for n in _numbers([*args, *kwargs.values()]) if n not in sizes), default=0)
    try:
        found = extrapolate(run_at, lambda result: [x.shape for x in _arrays(result)], sizes, least)
        if found is not None:
            return _as_meta(found[0], iter(found[1]))
    except (_TooBig, ValueError, IndexError, RuntimeError, TypeError) as error:
        cause = error
    operands = ", ".join(f"{x.dtype}{list(x.shape)}" for x in metas)
    raise NotImplementedError(TOO_BIG.format(name=name, operands=operands)) from cause


class _TooBig(Exception):
    pass


def _metas(x):
    """The meta arrays in nested lists and tuples."""
    if isinstance(x, MetaArray):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _metas(item)


def _numbers(x):
    """The Python ints in nested lists and tuples: settings such as counts, which sizes may be compared with."""
    if type(x) is int:
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _numbers(item)


def _zeros(x, point):
    """An argument with meta arrays replaced by zeros, and sizes by those of a sample point."""
    if isinstance(x, MetaArray):
        return np.zeros([point[n] for n in x.shape], x.dtype)
    if type(x) is int:
        return point.get(x, x) if x >= STEP else x
    return type(x)(_zeros(item, point) for item in x) if type(x) in (list, tuple) else x


def _arrays(result):
    """The arrays in a kernel's result."""
    if isinstance(result, (tuple, list)):
        return [a for r in result for a in _arrays(r)]
    return [np.asarray(result)] if isinstance(result, (np.ndarray, np.generic)) else []


def _as_meta(result, shapes=None):
    """A kernel's result with arrays replaced by meta arrays, of the same shapes or of the next of `shapes`."""
    if isinstance(result, (tuple, list)):
        items = [_as_meta(r, shapes) for r in result]
        return items if type(result) is list else tuple(items)
    if not isinstance(result, (np.ndarray, np.generic)):
        return result
    return MetaArray(np.shape(result) if shapes is None else next(shapes), result.dtype)
