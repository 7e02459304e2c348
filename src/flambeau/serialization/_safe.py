"""What restricted loads may create besides tensors and plain containers."""

from __future__ import annotations

_safe: list = []


def add_safe_globals(safe_globals):
    """Lets restricted loads create these classes and call these functions.

    An item is the class or function, or a pair of it and the name under which the file knows it.
    """
    _safe.extend(safe_globals)


def get_safe_globals():
    """What ``add_safe_globals`` has allowed."""
    return list(_safe)


def clear_safe_globals():
    """Takes back what ``add_safe_globals`` has allowed."""
    _safe.clear()


class safe_globals:
    """``add_safe_globals``, for the length of a ``with`` block."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        self.before = list(_safe)
        _safe.extend(self.safe_globals)

    def __exit__(self, *exc):
        _safe[:] = self.before


def allowed_globals():
    """{name: class or function} of all that was allowed."""
    pairs = (item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}") for item in _safe)
    return {name: thing for thing, name in pairs}
