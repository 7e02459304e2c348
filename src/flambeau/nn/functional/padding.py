"""Padding."""

from ...functions.pad import pad

__all__ = ["pad"]
