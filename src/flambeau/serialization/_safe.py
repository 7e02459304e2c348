"""What restricted loads may create besides tensors and plain containers."""

from __future__ import annotations

import contextlib

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


@contextlib.contextmanager
def safe_globals(safe_globals):
    """``add_safe_globals``, for a while."""
    before = list(_safe)
    _safe.extend(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


def allowed_globals():
    """{name: class or function} of all that was allowed."""
    pairs = (item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}") for item in _safe)
    return {name: thing for thing, name in pairs}
