"""The older names of :mod:`flambeau.amp` for ``"cpu"``."""

import warnings

from .. import amp
from .._dtypes import bfloat16

__all__ = ["GradScaler", "autocast"]

DEPRECATED = "`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cpu', args...)` instead."


class autocast(amp.autocast):
    """``amp.autocast("cpu", ...)``."""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        warnings.warn(DEPRECATED.format(name="autocast"), FutureWarning, stacklevel=2)
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``amp.GradScaler("cpu", ...)``."""

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        warnings.warn(DEPRECATED.format(name="GradScaler"), FutureWarning, stacklevel=2)
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
