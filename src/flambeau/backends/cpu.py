"""The CPU, as libraries ask for it to choose their arithmetic."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """``"AVX2"``, on every processor: arithmetic on integers is that of PyTorch's kernels for it."""
    return "AVX2"
