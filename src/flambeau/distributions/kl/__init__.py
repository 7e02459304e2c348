"""Kullback–Leibler divergences."""

from . import _moments, _normals, _same_family
from ._registry import _KL_REGISTRY, kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
