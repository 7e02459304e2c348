"""DataParallel for a single device."""

from __future__ import annotations

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Wraps a module as the attribute ``module`` and calls it directly, as PyTorch does without GPUs.

    Args:
        module: what is called.
        device_ids, output_device, dim: which devices get which part of a batch; not looked at.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Calls ``module`` with ``inputs``, a tuple or one argument."""
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
