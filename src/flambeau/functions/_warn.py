"""Warnings that are emitted once per process, as in PyTorch."""

from __future__ import annotations

import warnings

_emitted_keys: set[str] = set()


def warn_once(message, stacklevel=2, key=None):
    """Warns only the first time (per `key`, or per message), whatever the warning filters."""
    if (key or message) not in _emitted_keys:
        _emitted_keys.add(key or message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def forget():
    """Forgets which warnings were emitted; for tests."""
    _emitted_keys.clear()
