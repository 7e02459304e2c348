"""Assertions as functions, which tracing can record."""

__all__ = ["_assert", "_check"]


def _assert(condition, message):
    """Raises AssertionError with `message` unless `condition` is true."""
    if not condition:
        raise AssertionError(message)


def _check(cond, message=None):
    """Raises RuntimeError with the text that ``message()`` returns unless `cond` is true."""
    if not cond:
        raise RuntimeError("Expected cond to be True" if message is None else str(message()))
