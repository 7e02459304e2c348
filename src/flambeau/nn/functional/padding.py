"""Padding."""

from __future__ import annotations

from ...functions.pad import pad

__all__ = ["pad"]
