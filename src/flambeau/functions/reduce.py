"""Functions that fold dimensions."""

from __future__ import annotations

from ..ops import reduce as ops
from ._args import axis_of, need_tensor
from ._attach import methods

__all__ = ["sum"]


def sum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of all elements, or along ``dim``."""
    need_tensor(input, "sum")
    return ops.sum_(input, axis=axis_of(dim, input._a.ndim), keepdims=keepdim)


methods(sum)
