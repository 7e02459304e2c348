"""Warnings that are emitted once per process, as in PyTorch."""

from __future__ import annotations

import warnings

_given: set[str] = set()


def warn_once(message, stacklevel=2, key=None):
    """Warns only the first time (per `key`, or per message), whatever the warning filters."""
    if (key or message) not in _given:
        _given.add(key or message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def forget():
    """Forgets which warnings were emitted; for tests."""
    _given.clear()
