"""Type promotion: the dtype in which an op's operands meet."""

from __future__ import annotations

import numpy as np

from .. import _dtypes
from .._tensor import Tensor
from ..engines import NUMPY
from ..engines.numpy.base import quiet

_SCALARS = (float, int)
_FLOAT32 = np.dtype(np.float32)
_WIDE = frozenset(("mul", "div", "floor_divide", "div_floor", "div_trunc"))  # they take a scalar as a float32 to halves


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
            d = _dtypes.from_np(x.dtype) if hasattr(x, "dtype") else _dtypes.scalar_dtype(x)
            scalars = d if scalars is None else _dtypes.promote_types(scalars, d)
    return _dtypes.combine(dims, _dtypes.combine(zeros, scalars))


def promoted(inputs, arrays, how, name):
    """The operands cast to their common dtype; with ``how="float"`` at least to the default floating dtype."""
    first = arrays[0]
    if hasattr(first, "dtype"):
        same = all(a.dtype is first.dtype if hasattr(a, "dtype") else a is None for a in arrays)
        if same and (how == "common" or _dtypes.is_inexact(first.dtype)):
            return arrays
    target = result_dtype(inputs)
    if how == "float" and target.category < _dtypes.FLOAT:
        target = _dtypes.get_default_dtype()
    np_dtype = target.np
    half = np_dtype in _dtypes.HALF
    wide = half and name in _WIDE
    out = []
    for a in arrays:
        if a is None:
            out.append(None)
        elif hasattr(a, "dtype"):
            to = np.float32 if wide and not a.ndim and a.dtype not in _dtypes.HALF else np_dtype
            out.append(a if a.dtype == to else a.astype(to))
        elif type(a) in _SCALARS and target.category == _dtypes.FLOAT and (wide or not half):
            out.append(a)
        else:
            with quiet():  # a number too large for half precision becomes infinite
                out.append(np.asarray(a).astype(np_dtype))
    return out


def in_opmath(arrays):
    """Half-precision operands in float32, and the dtype to return to (None when there is nothing to do)."""
    for a in arrays:
        dtype = getattr(a, "dtype", None)
        if dtype is not None and dtype.num > 22 and dtype in _dtypes.HALF:
            wide = [NUMPY.cast(x, _FLOAT32) if getattr(x, "dtype", None) in _dtypes.HALF else x for x in arrays]
            return wide, dtype
    return arrays, None
