"""The allowlist of restricted loads."""

from __future__ import annotations

_safe: list = []


def add_safe_globals(safe_globals):
    """Allows restricted loads to create these classes and call these functions.

    An item is the class or function, or a pair of it and its name in the file.
    """
    _safe.extend(safe_globals)


def get_safe_globals():
    """The classes and functions allowed by ``add_safe_globals``."""
    return list(_safe)


def clear_safe_globals():
    """Clears the allowlist."""
    _safe.clear()


class safe_globals:
    """``add_safe_globals`` for the duration of a ``with`` block."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        self.before = list(_safe)
        _safe.extend(self.safe_globals)

    def __exit__(self, *exc):
        _safe[:] = self.before


def allowed_globals():
    """{name: class or function} of the allowlist."""
    pairs = (item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}") for item in _safe)
    return {name: thing for thing, name in pairs}
