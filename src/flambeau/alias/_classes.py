"""Classes say that they are torch's while the alias is installed: in prints, and in pickles, for PyTorch to read."""

from __future__ import annotations

import sys

from ._paths import ELSEWHERE

PACKAGE = "flambeau"
TOP_LEVEL = {"Size", "Tensor", "device", "dtype", "finfo", "iinfo", "layout", "memory_format"}
_HOMES = {
    name: f"torch.{path}" for path, sources in ELSEWHERE.items() if type(sources) is dict
    for names in sources.values() for name in names.split()
} | dict.fromkeys(TOP_LEVEL, "torch") | {"MultiheadAttention": "torch.nn.modules.activation"}

_own_names: dict[type, str] = {}


def name_classes():
    """Gives the classes of all modules that are loaded PyTorch's names, and the modules too: annotations need them."""
    for name, module in list(sys.modules.items()):
        if name == PACKAGE or name.startswith(PACKAGE + "."):
            name_classes_of(module)
            path = name.removeprefix(PACKAGE)
            if path and not any(f"{path}.".startswith(f".{other}.") for other in ELSEWHERE):
                sys.modules.setdefault("torch" + path, module)


def name_classes_of(module):
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__.partition(".")[0] == PACKAGE:
            _own_names[value] = value.__module__
            value.__module__ = _HOMES.get(value.__name__) or "torch" + value.__module__.removeprefix(PACKAGE)


def restore_classes():
    while _own_names:
        cls, name = _own_names.popitem()
        cls.__module__ = name
