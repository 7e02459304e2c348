"""In-place arithmetic without a copy: the usual case of ``add_``, ``sub_``, ``mul_`` and ``div_``."""

from __future__ import annotations

import numpy as np

from .._modes import modes
from .._tensor import Tensor
from ..engines.numpy.base import quiet
from ._args import bump
from ._inplace import check_writable, in_graph


def straight_into(ufunc, name):
    """The in-place method `name`, which lets the ufunc write straight to memory where nothing is recorded."""
    general = getattr(Tensor, name)

    def method(self, other, **settings):
        a = self._a
        if not settings and type(a) is np.ndarray and 11 <= a.dtype.num <= 12 and modes.grad is not None:
            b = other
            if isinstance(other, Tensor):
                b = other._a
                fits = b.dtype is a.dtype and type(b) is np.ndarray and (b.shape == a.shape or b.ndim == 0)
                recorded = modes.grad and (in_graph(self) or other.requires_grad)
            else:
                fits = type(other) is float or type(other) is int
                recorded = modes.grad and in_graph(self)
            if fits and not recorded:
                check_writable(self)
                bump(self, name)
                with quiet():
                    ufunc(a, b, out=a)
                return self
        return general(self, other, **settings)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", general.__doc__
    method.__signature__ = general.__signature__
    return method
