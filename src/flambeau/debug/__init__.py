"""Debugging tools for models."""

from ._graph import explain_graph
from ._memory import MemoryReport, memory
from ._nan_guard import NonFiniteError, nan_guard
from ._profile import ProfileReport, profile
from ._watch import watch

__all__ = [
    "MemoryReport", "NonFiniteError", "ProfileReport", "explain_graph", "memory", "nan_guard", "profile", "watch",
]

for _class in (MemoryReport, NonFiniteError, ProfileReport, nan_guard, watch):
    _class.__module__ = __name__
