"""Warnings that PyTorch gives once in a process."""

from __future__ import annotations

import warnings

_given: set[str] = set()


def warn_once(message, stacklevel=2, key=None):
    """Warns the first time only (of all messages of one `key`), however often the filters would let it through."""
    if (key or message) not in _given:
        _given.add(key or message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def forget():
    """Makes every warning new again; for tests."""
    _given.clear()
