"""Deterministic mode. All algorithms here are deterministic, so it only affects uninitialised memory."""

import numpy as np

from .. import _dtypes
from .._device import CPU, META


class Determinism:
    """The settings of ``use_deterministic_algorithms`` and ``torch.utils.deterministic``."""

    enabled = False
    warn_only = False
    fill_memory = True
    fills = False  # whether functions such as empty fill their result: enabled and fill_memory

    def set(self, **changes):
        """Changes some of the settings."""
        vars(self).update(changes)
        self.fills = self.enabled and self.fill_memory


determinism = Determinism()


def fill_uninitialized(t):
    """Fills the new tensor `t` with the value that marks uninitialised memory, and returns it."""
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
