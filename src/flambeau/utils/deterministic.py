"""Settings of deterministic mode.

``fill_uninitialized_memory``: whether, in deterministic mode, functions such as ``empty`` fill the memory they return
with NaN, or with the largest value of a dtype without NaN. True by default.
"""

import sys
import types

from ..functions._determinism import determinism as _determinism

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory: bool  # a module property, defined below


class _Settings(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Whether uninitialised memory is filled."""
        return _determinism.fill_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"fill_uninitialized_memory must be a bool, got {type(mode).__name__}")
        _determinism.set(fill_memory=mode)


sys.modules[__name__].__class__ = _Settings
