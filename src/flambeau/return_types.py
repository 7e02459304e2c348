"""The named-tuple types that functions return: ``return_types.max``."""

from .functions._results import TYPES as _TYPES

__all__ = list(_TYPES)

globals().update(_TYPES)
