"""Probability distributions."""

from .distribution import Distribution
from .normal import Normal

__all__ = ["Distribution", "Normal"]
