"""GPU settings. XLA decides how attention is computed, so the settings for it have no effect."""

import contextlib

from ..._precision import precision as _precision
from ..._signatures import set_name as _set_name
from ...cuda import is_available


class _Products:
    """Matmul settings; float32 precision is that of ``set_float32_matmul_precision``."""

    __slots__ = (
        "_fp32_precision", "allow_bf16_reduced_precision_reduction", "allow_fp16_accumulation",
        "allow_fp16_reduced_precision_reduction",
    )

    def __init__(self):
        self.allow_fp16_reduced_precision_reduction = self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False
        self._fp32_precision = "none"

    @property
    def allow_tf32(self):
        return _precision.matmul != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        self.fp32_precision = "tf32" if allowed else "ieee"

    @property
    def fp32_precision(self):
        if self.allow_tf32:
            return "tf32"
        return "ieee" if self._fp32_precision == "tf32" else self._fp32_precision

    @fp32_precision.setter
    def fp32_precision(self, name):
        if name not in ("none", "ieee", "tf32"):
            raise ValueError(f"invalid precision {name!r}: fp32_precision is 'ieee', 'tf32' or 'none'")
        self._fp32_precision = name
        _precision.set(matmul="high" if name == "tf32" else "highest")


matmul = _Products()
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built():
    """Whether GPUs can be used."""
    return is_available()


def _setting(kind):
    """The functions that return and change a setting."""

    def is_enabled():
        return _attention[kind]

    def enable(enabled):
        _attention[kind] = bool(enabled)

    return (_set_name(is_enabled, f"{kind}_sdp_enabled", "Returns the setting."),
            _set_name(enable, f"enable_{kind}_sdp", "Changes the setting."))


flash_sdp_enabled, enable_flash_sdp = _setting("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _setting("mem_efficient")
math_sdp_enabled, enable_math_sdp = _setting("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _setting("cudnn")


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context manager for these settings."""
    old = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(old)
