"""Memory formats of gradients."""

from .._tensor import Tensor
from ..engines import engine_of


def in_format_of(g, *operands):
    """A gradient in the memory format of the forward's operands; unchanged while recording."""
    return g if isinstance(g, Tensor) else engine_of(g).in_format_of(g, *operands)
