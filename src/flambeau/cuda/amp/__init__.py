"""The older names of :mod:`flambeau.amp` for ``"cuda"``."""

import warnings

from ... import amp
from ..._dtypes import float16
from ..._lazy import lazy_submodules as _lazy_submodules

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

DEPRECATED = "`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}({new})` instead."


class autocast(amp.autocast):
    """``amp.autocast("cuda", ...)``."""

    def __init__(self, enabled=True, dtype=float16, cache_enabled=True):
        warnings.warn(DEPRECATED.format(name="autocast", new="'cuda', args..."), FutureWarning, stacklevel=2)
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``amp.GradScaler("cuda", ...)``."""

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        warnings.warn(DEPRECATED.format(name="GradScaler", new="'cuda', args..."), FutureWarning, stacklevel=2)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """``amp.custom_fwd(..., device_type="cuda")``."""
    warnings.warn(DEPRECATED.format(name="custom_fwd", new="args..., device_type='cuda'"), FutureWarning, stacklevel=2)
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """``amp.custom_bwd(..., device_type="cuda")``."""
    warnings.warn(DEPRECATED.format(name="custom_bwd", new="args..., device_type='cuda'"), FutureWarning, stacklevel=2)
    return amp.custom_bwd(bwd, device_type="cuda")


__getattr__, __dir__ = _lazy_submodules(__name__, ["autocast_mode", "grad_scaler"])
