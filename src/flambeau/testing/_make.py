"""Random tensors for tests."""

import math
import warnings

from .. import _dtypes
from .._device import channels_last, channels_last_3d
from ..functions.complex import view_as_real
from ..functions.creation import empty

LOW_HIGH = "`low` must be less than `high`, but got {low} >= {high}"
NO_NAN = "`low` and `high` cannot be NaN, but got low={low} and high={high}"
OUTSIDE = (
    "The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{least}, {most})"
)
EQUAL = (
    "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated, as the interval "
    "[low, high) is empty then. Use torch.full for equal elements."
)
NO_GRAD = "`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
TWO_LAYOUTS = (
    "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got noncontiguous={noncontiguous} "
    "and memory_format={memory_format}"
)


def make_tensor(*shape, dtype, device=None, low=None, high=None, requires_grad=False, noncontiguous=False,
                exclude_zero=False, memory_format=None):
    """A random tensor with elements in [low, high): by default [-9, 10) for integers, [-9, 9) for other numbers.

    ``low`` and ``high`` are clamped to the dtype's range. ``noncontiguous`` leaves gaps in memory; ``exclude_zero``
    replaces zeros by the smallest other value.
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(TWO_LAYOUTS.format(noncontiguous=noncontiguous, memory_format=memory_format))
    if requires_grad and dtype.category < _dtypes.FLOAT:
        raise ValueError(NO_GRAD.format(dtype=dtype))
    gaps = noncontiguous and math.prod(shape) > 1
    drawn = (*shape[:-1], 2 * shape[-1]) if gaps else shape
    out = _draw(empty(drawn, dtype=dtype, device=device), *_interval(low, high, dtype))
    if gaps:
        out = out[..., 1::2]
    elif memory_format in (channels_last, channels_last_3d):
        out = out.contiguous(memory_format=memory_format)
    if exclude_zero:
        out[out == 0] = 1 if dtype.category < _dtypes.FLOAT else _dtypes.finfo(dtype).tiny
    return out.requires_grad_(requires_grad) if requires_grad else out


def _interval(low, high, dtype):
    """`low` and `high` or their defaults, clamped to the dtype's range."""
    least, most, below, above = _limits(dtype)
    low, high = below if low is None else low, above if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(NO_NAN.format(low=low, high=high))
    inexact = dtype.category >= _dtypes.FLOAT
    if low == high and inexact:
        warnings.warn(EQUAL, FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(LOW_HIGH.format(low=low, high=high))
    elif low >= most or high <= least:
        raise ValueError(OUTSIDE.format(low=low, high=high, dtype=dtype, least=least, most=most))
    low, high = max(least, min(low, most)), max(least, min(high, most))
    return (low, high) if inexact else (math.ceil(low), math.ceil(high))


def _limits(dtype):
    """The (minimum, maximum) of a dtype and the default (low, high); the maximum is exclusive for integers."""
    if dtype is _dtypes.bool_:
        return 0, 2, 0, 2
    if dtype.category < _dtypes.FLOAT:
        info = _dtypes.iinfo(dtype)
        return info.min, info.max + (dtype.itemsize < 8), -9, 10  # random draws support bounds up to 64 bits
    info = _dtypes.finfo(dtype)
    return info.min, info.max, -9, 9


def _draw(out, low, high):
    """Fills `out` with numbers in [low, high)."""
    dtype = out.dtype
    if dtype.category < _dtypes.FLOAT:
        return out.random_(low, high)
    if dtype in (_dtypes.float8_e4m3fn, _dtypes.float8_e5m2):
        return _draw(out.float(), low, high).to(dtype)
    parts = view_as_real(out) if dtype.category == _dtypes.COMPLEX else out
    if high - low > _dtypes.finfo(dtype).max:  # the difference overflows
        parts.uniform_(low / 2, high / 2).mul_(2)
    else:
        parts.uniform_(low, high)
    return out
