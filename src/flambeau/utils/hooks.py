"""Handles that take a hook away again."""

from .._hooks import RemovableHandle

__all__ = ["RemovableHandle"]
