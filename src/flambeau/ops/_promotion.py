"""Type promotion of operands."""

import numpy as np

from .. import _dtypes
from .._fp_errors import ignore_fp_errors
from .._tensor import Tensor
from ..engines import NUMPY, engine_of

_SCALARS = (float, int)
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide"))  # kernels that accept half precision
_PIECE = 65536  # elements: several float32 arrays of that size fit in the cache
_WIDE = frozenset(("mul", "div", "floor_divide", "div_floor", "div_trunc"))  # with float32 scalars


def result_dtype(operands):
    """The flambeau dtype of an expression over tensors and Python numbers."""
    dims = zeros = scalars = None
    for x in operands:
        if x is None:
            continue
        if isinstance(x, Tensor):
            d = _dtypes.from_np(x._a.dtype)
            if x._a.ndim:
                dims = d if dims is None else _dtypes.promote_types(dims, d)
            else:
                zeros = d if zeros is None else _dtypes.promote_types(zeros, d)
        else:
            d = _dtypes.from_np(x.dtype) if hasattr(x, "dtype") else _dtypes.operand_dtype(x)
            scalars = d if scalars is None else _dtypes.promote_types(scalars, d)
    return _dtypes.combine(dims, _dtypes.combine(zeros, scalars))


def computed_dtype(operands, how):
    """The flambeau dtype that operands are cast to; with ``how="float"`` at least the default floating dtype."""
    found = result_dtype(operands)
    return _dtypes.get_default_dtype() if how == "float" and found.category < _dtypes.FLOAT else found


def promote_operands(inputs, arrays, how, name):
    """The operands cast to their common dtype; with ``how="float"`` at least to the default floating dtype."""
    first = arrays[0]
    if hasattr(first, "dtype"):
        same = all(a.dtype is first.dtype if hasattr(a, "dtype") else a is None for a in arrays)
        if same and (how == "common" or _dtypes.is_inexact(first.dtype)):
            return arrays
    for a in arrays:
        if type(a) is int:
            _dtypes.check_int(a)
    target = computed_dtype(inputs, how)
    np_dtype = target.np
    half = np_dtype in _dtypes.HALF
    wide = half and name in _WIDE
    alone = not any([getattr(a, "ndim", 0) for a in arrays])  # if no operand has dimensions, all have equal priority
    out = []
    for a in arrays:
        if a is None:
            out.append(None)
        elif hasattr(a, "dtype"):
            to = np.float32 if wide and not alone and not a.ndim and a.dtype not in _dtypes.HALF else np_dtype
            out.append(a if a.dtype == to else NUMPY.cast(a, to))
        elif a.__class__ in _SCALARS and target.category == _dtypes.FLOAT and (wide or not half):
            out.append(a)
        else:
            with ignore_fp_errors():  # numbers too large for half precision become infinite
                out.append(NUMPY.cast(np.asarray(a), np_dtype))
    return out


def in_opmath(arrays):
    """Half-precision operands in float32, and the dtype to convert the result to (None if unchanged).

    For mixed dtypes, such as a layer's input and weights, the result has that of the first operand.
    """
    for a in arrays:
        dtype = getattr(a, "dtype", None)
        if dtype is not None and dtype.num >= _dtypes.FIRST_HALF and dtype in _dtypes.HALF:
            wide = [NUMPY.widen(x) if getattr(x, "dtype", None) in _dtypes.HALF else x for x in arrays]
            return wide, None if _is_wide(arrays[0]) else dtype
    return arrays, None


def widened(g):
    """A gradient in float32 if it is an array in half precision: what is summed is rounded once, at the end."""
    return g if isinstance(g, Tensor) or g.dtype not in _dtypes.HALF else engine_of(g).cast(g, _dtypes.float32.np)


def _is_wide(a):
    """Whether x is a floating array with dimensions, and not half precision."""
    return getattr(a, "ndim", 0) > 0 and a.dtype.kind in "fc" and a.dtype not in _dtypes.HALF


def are_large_halves(arrays):
    """Whether the operands are large contiguous half-precision arrays of one shape, or numbers."""
    first = arrays[0]
    return (
        getattr(first, "dtype", None) in _dtypes.HALF and first.size > _PIECE and engine_of(*arrays) is NUMPY
        and all(type(a) in _SCALARS or (hasattr(a, "ndim") and (not a.ndim or _is_like(a, first))) for a in arrays)
    )


def _is_like(a, first):
    return a.dtype is first.dtype and a.shape == first.shape and a.flags.c_contiguous


def in_pieces(forward, kernel, arrays):
    """A pointwise forward on large half-precision arrays in pieces, so that float32 intermediates stay in the cache."""
    first = arrays[0]
    if kernel in _ARITHMETIC and getattr(arrays[1], "ndim", 0):
        return NUMPY.combine_narrow(first, arrays[1], kernel)
    flat = [a.reshape(-1) if getattr(a, "ndim", 0) else a for a in arrays]
    out = None
    for start in range(0, first.size, _PIECE):
        piece = slice(start, start + _PIECE)
        wide, _ = in_opmath([a[piece] if getattr(a, "ndim", 0) else a for a in flat])
        r = forward(NUMPY, *wide)
        if out is None:
            out = np.empty(first.size, first.dtype if r.dtype.kind == "f" else r.dtype)
        NUMPY.write(out[piece], r)
    return out.reshape(first.shape)
