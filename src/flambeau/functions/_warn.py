"""Warnings that are issued once per process."""

from __future__ import annotations

import warnings

_given: set[str] = set()


def warn_once(message, stacklevel=2, key=None):
    """Warns only the first time (for each `key`), regardless of the warning filters."""
    if (key or message) not in _given:
        _given.add(key or message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def forget():
    """Resets the record of issued warnings, for tests."""
    _given.clear()
