"""The names of PyTorch's code generator that programs set; XLA does its work."""

from .._settings import Settings

__all__ = ["config"]

config = Settings()
