"""Export: models as files that run without their source (StableHLO, written by JAX).

``export(model, inputs)`` traces a model and returns an :class:`ExportedProgram`. It can be saved, loaded in a process
without the model's code, and called on the platforms it was exported for. See docs/compile.md.
"""

import sys
import types

from ._dims import Dim
from ._program import ExportedProgram, load, save
from ._trace import export

__all__ = ["Dim", "ExportedProgram", "export", "load", "save"]


class _Callable(types.ModuleType):
    """This module, made callable: ``flambeau.export(model, inputs)``."""

    def __call__(self, *args, **kwargs):
        return export(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
