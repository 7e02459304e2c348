"""In-place arithmetic without a copy: the usual case of ``add_``, ``sub_``, ``mul_`` and ``div_``."""

from __future__ import annotations

import numpy as np

from .._fp_errors import call_without_fp_warnings
from .._modes import modes
from .._tensor import Tensor, engine_for
from ..autograd._writes import check_writable, in_graph, write
from ..engines import NUMPY


def straight_into(ufunc, name):
    """The in-place method `name`, which lets the ufunc write straight to memory where nothing is recorded."""
    general = getattr(Tensor, name)
    scales = name in ("add_", "sub_")

    def fill(a, b, alpha):
        if alpha is not None:
            b = call_without_fp_warnings(np.multiply, b, alpha)
        return call_without_fp_warnings(ufunc, a, b, a)

    def method(self, other, *deprecated, **settings):
        a, alpha = self._a, None
        if deprecated:
            return general(self, other, *deprecated, **settings)
        if settings:
            alpha = settings.get("alpha")
            plain = scales and len(settings) == 1 and type(alpha) is float and isinstance(other, Tensor)
        else:
            plain = True
        grad = modes.grad
        if plain and engine_for(self) is NUMPY and 11 <= a.dtype.num <= 12 and grad is not None:
            b = other
            if isinstance(other, Tensor):
                b = other._a
                fits = b.dtype is a.dtype and engine_for(other) is NUMPY and (b.shape == a.shape or b.ndim == 0)
                recorded = grad and (in_graph(self) or other._rg or (other._view is not None and other.requires_grad))
            else:
                fits = type(other) is float or type(other) is int
                recorded = grad and in_graph(self)
            if fits and not recorded:
                check_writable(self)
                if self._a is not a:  # a constant of a trace, which is not written to
                    return general(self, other, **settings)
                return write(self, name, fill, b, alpha)
        return general(self, other, **settings)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", general.__doc__
    method.__signature__ = general.__signature__
    return method
