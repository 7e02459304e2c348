"""Tools for modules and their parameters."""

from . import parametrize, stateless
from .init import skip_init

__all__ = ["parametrize", "skip_init", "stateless"]
