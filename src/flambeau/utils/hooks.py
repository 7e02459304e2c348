"""Handles that remove a hook."""

from .._hooks import RemovableHandle

__all__ = ["RemovableHandle"]
