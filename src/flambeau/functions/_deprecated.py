"""PyTorch's deprecated overloads with numbers between the tensors: ``addmm(beta, input, alpha, mat1, mat2)``.

Functions take the surplus arguments as ``*deprecated``, which is hidden from their signatures.
"""

import inspect

from .._tensor import Tensor
from ._warn import warn_once

DEPRECATED = (
    "This overload of {name} is deprecated: numbers are among its tensors. Pass them by keyword, after the tensors, "
    "for example add(input, other, alpha=2) or addmm(input, mat1, mat2, beta=2, alpha=3)."
)
TOO_MANY = "{name}() received an invalid combination of arguments: expected {count} tensors, got {kinds}"


def old_order(name, count, *args, depth=0):
    """Parses a deprecated call into (the `count` tensors, the numbers): one number next to the first tensor and
    optionally one after it. `depth`: the number of stack frames between the function and this one.
    """
    first = 0 if not isinstance(args[0], Tensor) else 1
    places = (first, 2)[: len(args) - count]
    numbers = [args[place] for place in places]
    tensors = [x for place, x in enumerate(args) if place not in places]
    operands = tensors if count > 2 else tensors[:1]  # the second operand of a sum may be a number
    if len(tensors) != count or not all(isinstance(t, Tensor) for t in operands) or not all(map(_is_number, numbers)):
        raise TypeError(TOO_MANY.format(name=name, count=count, kinds=", ".join(type(x).__name__ for x in args)))
    warn_once(DEPRECATED.format(name=name), stacklevel=4 + depth, key=DEPRECATED)
    return tensors, [x.item() if isinstance(x, Tensor) else x for x in numbers]


def _is_number(x):
    return isinstance(x, (int, float, complex)) or (isinstance(x, Tensor) and not x.ndim and not x.requires_grad)


def hide(*functions):
    """Hides ``*deprecated`` in the signatures of functions and their methods."""
    for function in functions:
        for f in (function, function.method):
            signature = inspect.signature(f)
            shown = [p for p in signature.parameters.values() if p.name != "deprecated"]
            f.__signature__ = signature.replace(parameters=shown)
