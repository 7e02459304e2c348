"""What Python asks of a Tensor: printing, conversion to numbers and arrays, the graph's entry points."""

from __future__ import annotations

from .._format import format_spec, format_tensor
from .._tensor import Tensor, storage_of, wrap
from ._attach import methods


def detach(input):
    """The same memory, out of the graph."""
    out = wrap(input._a)
    out._storage = storage_of(input)
    return out


def numpy(self, *, force=False):
    """The NumPy array over the same memory."""
    return self._a


methods(detach, numpy)
Tensor.__repr__ = format_tensor
Tensor.__format__ = format_spec
