"""The names of PyTorch's code generator that programs set; XLA does its work."""

from . import config

__all__ = ["config"]
