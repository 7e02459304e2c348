"""What torchvision's compiled extensions provide, written anew: its Python part runs on these operators unchanged.

``torch.ops.load_library`` comes here where PyTorch would load an extension of torchvision.
"""

from __future__ import annotations

import importlib
import os

from .. import _ops

__all__ = ["load_extension"]

# The extensions of torchvision, the module with their operators, and the library of torch.ops that these are in.
EXTENSIONS = {"_C": ("operators", "torchvision"), "image": ("images", "image")}


def load_extension(path):
    """Adds the operators of an extension to ``torch.ops``; False if it is none of torchvision's."""
    folder, file = os.path.split(str(path))
    name = file.partition(".")[0].removesuffix("_stable")
    if os.path.basename(folder) != "torchvision" or name not in EXTENSIONS:
        return False
    module, library = EXTENSIONS[name]
    operators = importlib.import_module(f"flambeau.vision.{module}").OPERATORS
    for each, function in operators.items():
        _ops.operator(library, each).set_composed(function)
    return True
