"""Reimplements torchvision's compiled extensions, so that its Python part runs unchanged.

``torch.ops.load_library`` calls this where PyTorch would load an extension of torchvision.
"""

import importlib
import os

from .. import _ops

__all__ = ["load_extension"]

# torchvision's extensions, the modules with their operators, and their ``torch.ops`` namespaces.
EXTENSIONS = {"_C": ("operators", "torchvision"), "image": ("images", "image")}


def load_extension(path):
    """Adds the operators of an extension to ``torch.ops``; returns False if it is not torchvision's."""
    folder, file = os.path.split(str(path))
    name = file.partition(".")[0].removesuffix("_stable")
    if os.path.basename(folder) != "torchvision" or name not in EXTENSIONS:
        return False
    module, library = EXTENSIONS[name]
    operators = importlib.import_module(f"flambeau.vision.{module}").OPERATORS
    for each, function in operators.items():
        _ops.operator(library, each).set_composed(function)
    return True
