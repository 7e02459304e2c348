"""Tools around tensors and modules."""

from . import deterministic, dlpack, hooks

__all__ = ["deterministic", "dlpack", "hooks"]
