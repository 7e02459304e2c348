"""Makes the public function of a pointwise op of one input."""

from __future__ import annotations

from .._tensor import Tensor
from ._args import need_tensor, write_out


def unary(call, name, doc):
    """``name(input, *, out=None)`` over the op `call`."""

    def function(input, *, out=None):
        if not isinstance(input, Tensor):
            need_tensor(input, name)
        result = call(input)
        return result if out is None else write_out(out, result, name)

    function.method = call
    call.__doc__ = call.__doc__ or doc
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "flambeau"
    return function
