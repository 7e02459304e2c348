"""Utilities for tensors and modules."""

from .._lazy import lazy_submodules as _lazy_submodules
from . import deterministic, dlpack, hooks

__all__ = ["checkpoint", "data", "deterministic", "dlpack", "hooks", "progress"]

_LAZY = ["_python_dispatch", "_pytree", "benchmark", "checkpoint", "collect_env", "cpp_extension", "data",
         "flop_counter", "model_zoo", "progress", "tensorboard"]
__getattr__, __dir__ = _lazy_submodules(__name__, _LAZY)
