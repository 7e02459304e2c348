"""What a program is made of: its inputs, its outputs, what it writes and what it does besides, one record each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..engines._views import with_key

TENSOR, DRAW, FLOAT, GRADIENT = "tensor", "draw", "float", "gradient"


@dataclasses.dataclass(slots=True)
class TensorInput:
    """A tensor from outside, found at a place before each run; ``signature`` is what the program was compiled for."""

    place: Any
    signature: tuple

    kind = TENSOR


@dataclasses.dataclass(slots=True)
class DrawInput:
    """Random numbers, drawn before each run."""

    draw: Callable

    kind = DRAW


@dataclasses.dataclass(slots=True)
class FloatInput:
    """A float, read or computed before each run."""

    compute: Callable

    kind = FLOAT


@dataclasses.dataclass(slots=True)
class GradientInput:
    """The gradient of the output number ``nr`` among those that can be differentiated. Only backward takes it."""

    nr: int

    kind = GRADIENT


@dataclasses.dataclass(slots=True)
class Output:
    """A tensor that the program creates. ``strides`` is None where it is contiguous."""

    cls: type
    requires_grad: bool
    retains_grad: bool
    differentiable: bool
    strides: tuple | None
    device: Any


@dataclasses.dataclass(slots=True)
class Write:
    """New elements for the tensor of the input ``index``: in its memory, or, if ``rebind``, in new memory."""

    index: int
    rebind: bool


@dataclasses.dataclass(slots=True)
class Alias:
    """A result that is not created: the tensor at ``place`` or the output number ``nr`` itself, or a view of it."""

    place: Any
    nr: int | None
    chain: tuple | None  # the steps of the view; None where it is the tensor itself
    detached: bool

    def base(self, arguments, outputs) -> Tensor:
        return self.place.find(arguments) if self.nr is None else outputs[self.nr]

    def steps(self, outputs) -> tuple:
        """The steps of the view in this run."""
        return tuple([with_key(step, lambda entry: entry.of(outputs) if type(entry) is ComputedIndex else entry)
                      for step in self.chain or ()])


@dataclasses.dataclass(slots=True)
class ComputedIndex:
    """An index in the key of a view that the program computes: its output number ``nr``."""

    nr: int

    def of(self, outputs) -> int:
        return int(outputs[self.nr])


@dataclasses.dataclass(slots=True)
class Assignment:
    """A value for a place: an attribute, a global name, a closure. ``tree`` may be MISSING: it is deleted."""

    place: Any
    tree: Any


@dataclasses.dataclass(slots=True)
class Refill:
    """New contents of a container: of one from outside, or of the one with this number among the arguments."""

    container: Any
    keys: tuple  # or their tree
    tree: Any


@dataclasses.dataclass(slots=True)
class GradAssignment:
    """A new gradient for the tensor at the place number ``nr``, or None for it."""

    nr: int
    is_tensor: bool


@dataclasses.dataclass(slots=True)
class GradState:
    """Whether the tensor at the place number ``nr`` had a gradient when the program was compiled."""

    nr: int
    is_there: bool


@dataclasses.dataclass(slots=True)
class HookState:
    """The hooks that the tensor at the place number ``nr`` had when the program was compiled."""

    nr: int
    hooks: tuple
