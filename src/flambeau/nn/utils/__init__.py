"""Tools for modules and their parameters."""

from . import parametrize, rnn, stateless
from .init import skip_init

__all__ = ["parametrize", "rnn", "skip_init", "stateless"]
