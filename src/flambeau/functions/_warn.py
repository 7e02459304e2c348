"""Warnings that PyTorch gives once in a process."""

from __future__ import annotations

import warnings

_given: set[str] = set()


def warn_once(message, stacklevel=2):
    """Warns the first time only, however often the warning filters would let it through."""
    if message not in _given:
        _given.add(message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def forget():
    """Makes every warning new again; for tests."""
    _given.clear()
