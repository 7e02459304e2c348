"""The types of results that are tuples with names, by the functions that return them: ``return_types.max``."""

from .functions._results import TYPES as _TYPES

__all__ = list(_TYPES)

globals().update(_TYPES)
