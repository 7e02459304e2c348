"""Memory formats of gradients."""

from __future__ import annotations

from .._tensor import Tensor
from ..engines import engine_of


def in_format_of(g, *operands):
    """A gradient in the memory format that operands of the forward suggest; as it is where it is recorded."""
    return g if isinstance(g, Tensor) else engine_of(g).in_format_of(g, *operands)
