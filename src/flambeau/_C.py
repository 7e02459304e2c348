"""The few names of PyTorch's C extension that programs use."""

from .overrides import DisableTorchFunctionSubclass
from .overrides import disabled as _disabled_torch_function_impl

__all__ = ["DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]
