"""Gives classes and functions torch's module names while the alias is installed, for printing and pickling."""

from __future__ import annotations

import sys
from types import FunctionType

from ._paths import ELSEWHERE

PACKAGE = "flambeau"
# Classes that PyTorch defines neither in the module of the same path nor in the public parent of a private one.
_CLASSES = {
    "torch": (
        "AcceleratorError OutOfMemoryError Size Tensor device dtype finfo iinfo layout memory_format SymBool SymFloat "
        "SymInt"
    ),
    "torch._C": "Generator",
    "torch._dynamo.eval_frame": "OptimizedModule",
    "torch.autograd.function": "BackwardCFunction FunctionCtx",
    "torch.linalg": "LinAlgError",
    "torch.nn.modules.activation": "MultiheadAttention",
    "torch.nn.modules.linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "torch.nn.modules.loss": (
        "CosineEmbeddingLoss HingeEmbeddingLoss LinearCrossEntropyLoss MarginRankingLoss MultiLabelMarginLoss "
        "MultiLabelSoftMarginLoss MultiMarginLoss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss "
        "_Loss _WeightedLoss"
    ),
    "torch.nn.modules.module": "_IncompatibleKeys",
    "torch.nn.modules.rnn": "GRUCell LSTMCell RNNCell RNNCellBase",
    "torch.optim": "Adafactor Muon",
    "torch.profiler.profiler": "ProfilerAction profile",
    "torch.storage": "TypedStorage UntypedStorage _load_from_bytes",
    "torch.utils.hooks": "RemovableHandle",
}
_HOMES = {
    name: f"torch.{path}" for path, sources in ELSEWHERE.items() if type(sources) is dict
    for names in sources.values() for name in names.split()
} | {name: path for path, names in _CLASSES.items() for name in names.split()}
_FUNCTIONS = {f"{PACKAGE}{path}" for path in ("", ".nn.functional", ".nn.init", ".special", ".linalg", ".fft")}

_own_names: dict[type | FunctionType, str] = {}


def name_classes():
    """Applies PyTorch's names to the members of all loaded modules, and to the modules, as annotations require."""
    for name, module in list(sys.modules.items()):
        if name == PACKAGE or name.startswith(PACKAGE + "."):
            name_module(name, module)


def name_module(name, module):
    """Applies PyTorch's names to one module."""
    name_classes_of(module)
    path = name.removeprefix(PACKAGE)
    if path and not any(f"{path}.".startswith(f".{other}.") for other in ELSEWHERE):
        sys.modules.setdefault("torch" + path, module)


def name_classes_of(module):
    home = "torch" + module.__name__.removeprefix(PACKAGE)
    has_functions = module.__name__ in _FUNCTIONS
    for value in list(vars(module).values()):
        is_function = isinstance(value, FunctionType)
        has_name = has_functions and is_function and vars(module).get(value.__qualname__) is value
        if isinstance(value, type) or has_name or (is_function and value.__name__ in _HOMES):
            _name(value, home, has_name)


def _name(value, home, is_its_home):
    """Renames a class or function found in a module, which is `home` now."""
    root, _, path = value.__module__.partition(".")
    if value in _own_names:
        if not value.__module__.startswith(home + "._"):
            return
    elif root != PACKAGE:
        return
    _own_names.setdefault(value, value.__module__)
    own = f"torch.{path}".rstrip(".")
    value.__module__ = _HOMES.get(value.__name__) or (home if is_its_home or own.startswith(home + "._") else own)


def restore_classes():
    while _own_names:
        value, name = _own_names.popitem()
        value.__module__ = name
