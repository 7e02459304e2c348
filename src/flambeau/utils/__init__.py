"""Tools around tensors and modules."""

from .._lazy import lazy_submodules as _lazy_submodules
from . import deterministic, dlpack, hooks

__all__ = ["checkpoint", "data", "deterministic", "dlpack", "hooks", "progress"]

__getattr__, __dir__ = _lazy_submodules(__name__, ["_pytree", "checkpoint", "data", "model_zoo", "progress"])
