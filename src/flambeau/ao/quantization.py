"""Quantization, which is not supported. Models that are prepared for it run unquantized."""

from .._utils import unsupported_function
from ..nn.modules.module import Module

NOT_SUPPORTED = "torch.ao.quantization.{name} is not supported: Flambeau has no quantized tensors."


class _Stub(Module):
    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class QuantStub(_Stub):
    """Marks where a quantized model would quantize; the identity here."""


class DeQuantStub(_Stub):
    """Marks where a quantized model would dequantize; the identity here."""


_NAMES = ["convert", "fuse_modules", "get_default_qat_qconfig", "get_default_qconfig", "prepare", "prepare_qat",
          "quantize", "quantize_dynamic"]
globals().update({name: unsupported_function(name, NOT_SUPPORTED) for name in _NAMES})
__all__ = ["DeQuantStub", "QuantStub", *_NAMES]
