"""Models as files that run without their source: StableHLO, made by jax.

``export(model, inputs)`` traces a model once, and returns an :class:`ExportedProgram`. It can be saved, loaded in a
process that does not have the model's code, and called on the platforms that it was made for. See docs/compile.md.
"""

import sys
import types

from ._dims import Dim
from ._program import ExportedProgram, load, save
from ._trace import export

__all__ = ["Dim", "ExportedProgram", "export", "load", "save"]


class _Callable(types.ModuleType):
    """The module, which can be called: ``flambeau.export(model, inputs)``."""

    def __call__(self, *args, **kwargs):
        return export(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
