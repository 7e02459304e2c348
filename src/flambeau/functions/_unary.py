"""Builds the public functions of unary pointwise ops."""

from .._signatures import set_name
from .._tensor import Tensor
from ._args import need_tensor
from ._out import out_variant


def unary(call, name, doc, **rules):
    """Makes ``name(input, *, out=None)`` from the op `call`; the `rules` are those of ``out_variant``."""
    variant = out_variant(on_tensors(call, name, doc), **rules)
    variant.method = call
    return variant


def on_tensors(call, name, doc):
    """Makes ``name(input)`` from the op `call`, for functions without ``out=`` in PyTorch."""

    def function(input):
        if not isinstance(input, Tensor):
            need_tensor(input, name)
        return call(input)

    function.method = call
    call.__doc__ = call.__doc__ or doc
    return set_name(function, name, doc, "flambeau")
