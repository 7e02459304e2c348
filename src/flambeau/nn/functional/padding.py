"""Padding."""

from ...functions.padding import pad

__all__ = ["pad"]
