"""Tools around tensors and modules."""

from . import dlpack, hooks

__all__ = ["dlpack", "hooks"]
