"""Graph transformations."""

from ..._lazy import lazy_submodules as _lazy_submodules

__getattr__, __dir__ = _lazy_submodules(__name__, ["optimization"])
