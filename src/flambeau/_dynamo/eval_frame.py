"""Where libraries look for the class of compiled modules."""

from ..compiler._module import OptimizedModule

__all__ = ["OptimizedModule"]
