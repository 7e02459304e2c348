"""Tensors for tests."""

from __future__ import annotations

from .. import _dtypes
from .._device import channels_last, channels_last_3d
from ..functions.creation import empty
from ..functions.from_data import tensor
from ..functions.move import repeat_interleave

_LIMITS = {_dtypes.uint8: (0, 10), _dtypes.bool_: (0, 2)}


def make_tensor(*shape, dtype, device=None, low=None, high=None, requires_grad=False, noncontiguous=False,
                exclude_zero=False, memory_format=None):
    """A tensor of random elements in [low, high): by default [-9, 9) for numbers, [0, 10) for bytes.

    ``noncontiguous`` leaves gaps in its memory; ``exclude_zero`` replaces zeros by the smallest other value.
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if low is not None and high is not None and low >= high and dtype is not _dtypes.bool_:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    least, most = _LIMITS.get(dtype, (-9, 10 if dtype.category < _dtypes.FLOAT else 9))
    low, high = least if low is None else low, most if high is None else high
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive; give one of them")
    out = empty(shape, dtype=dtype, device=device)
    if dtype.category < _dtypes.FLOAT:
        out.random_(int(low), int(high))
    else:
        out.uniform_(low, high)
    if noncontiguous and out.numel() > 1:
        out = repeat_interleave(out, 2, dim=-1)[..., ::2]
    elif memory_format in (channels_last, channels_last_3d):
        out = out.contiguous(memory_format=memory_format)
    if exclude_zero:
        smallest = 1 if dtype.category < _dtypes.FLOAT else _dtypes.finfo(dtype).tiny
        out[out == 0] = tensor(smallest, dtype=dtype)
    return out.requires_grad_(requires_grad) if requires_grad else out
