"""Testing utilities: comparing and creating tensors, and checking modules."""

from .._lazy import lazy_submodules as _lazy_submodules
from ._close import assert_close
from ._make import make_tensor

__all__ = ["ModuleCheckError", "assert_close", "check_module", "make_tensor"]

__getattr__, __dir__ = _lazy_submodules(__name__, [], dict.fromkeys(["ModuleCheckError", "check_module"], "_module"))
