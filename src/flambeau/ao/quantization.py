"""Quantization of models, which is not supported."""

from ..nn.modules.module import Module

NOT_SUPPORTED = "torch.ao.quantization.{name} is not supported: Flambeau has no quantized tensors."


class _Stub(Module):
    def __init__(self, qconfig=None):
        raise NotImplementedError(NOT_SUPPORTED.format(name=type(self).__name__))


class QuantStub(_Stub):
    """Not supported: making one raises."""


class DeQuantStub(_Stub):
    """Not supported: making one raises."""
