"""Deterministic mode. All algorithms here are deterministic, so what it changes is memory that was not initialised."""

from __future__ import annotations

import numpy as np

from .. import _dtypes
from .._device import CPU, META


class Determinism:
    """What ``use_deterministic_algorithms`` and ``torch.utils.deterministic`` have set."""

    enabled = False
    warn_only = False
    fill_memory = True
    fills = False  # whether functions such as empty fill what they return: enabled and fill_memory

    def set(self, **changes):
        """Sets some of them."""
        vars(self).update(changes)
        self.fills = self.enabled and self.fill_memory


determinism = Determinism()


def fill_uninitialized(t):
    """The new tensor `t`, filled with the value that stands for memory that was not initialised."""
    if t.device is CPU:
        t._a[...] = blank(t.dtype)
    elif t.device is not META:
        t.detach().fill_(blank(t.dtype).item())
    return t


def blank(dtype):
    """NaN, or the largest value of a dtype that has no NaN."""
    if dtype.category >= _dtypes.FLOAT:
        return np.asarray(np.nan).astype(dtype.np)
    return np.asarray(True if dtype is _dtypes.bool_ else _dtypes.iinfo(dtype).max, dtype.np)
