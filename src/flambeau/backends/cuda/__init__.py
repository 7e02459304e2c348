"""Settings for GPUs: they are kept, and make no difference. How attention is computed is XLA's choice."""

import contextlib
from types import SimpleNamespace

from ...cuda import is_available

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False, fp32_precision="none",
)
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built():
    """Whether GPUs can be used."""
    return is_available()


def flash_sdp_enabled():
    """The setting of that name."""
    return _attention["flash"]


def mem_efficient_sdp_enabled():
    """The setting of that name."""
    return _attention["mem_efficient"]


def math_sdp_enabled():
    """The setting of that name."""
    return _attention["math"]


def cudnn_sdp_enabled():
    """The setting of that name."""
    return _attention["cudnn"]


def enable_flash_sdp(enabled):
    """Sets it."""
    _attention["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled):
    """Sets it."""
    _attention["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled):
    """Sets it."""
    _attention["math"] = bool(enabled)


def enable_cudnn_sdp(enabled):
    """Sets it."""
    _attention["cudnn"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context in which the settings are these."""
    old = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(old)
