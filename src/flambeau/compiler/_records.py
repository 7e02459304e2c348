"""The parts of a program, one record each: inputs, outputs, writes and other effects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..engines._views import with_key


@dataclasses.dataclass(slots=True)
class TensorInput:
    """A tensor from outside, found at a place before each run; the program was compiled for its ``signature``."""

    place: Any
    signature: tuple


@dataclasses.dataclass(slots=True)
class DrawInput:
    """Random numbers, drawn before each run."""

    compute: Callable


@dataclasses.dataclass(slots=True)
class FloatInput:
    """A float, read or computed before each run."""

    compute: Callable


@dataclasses.dataclass(slots=True)
class GradientInput:
    """The gradient of differentiable output number ``nr``. Only backward has such inputs."""

    nr: int


@dataclasses.dataclass(slots=True)
class Output:
    """A tensor that the program creates. ``strides`` is None if it is contiguous."""

    cls: type
    requires_grad: bool
    retains_grad: bool
    differentiable: bool
    strides: tuple | None
    device: Any


@dataclasses.dataclass(slots=True)
class Write:
    """New elements for the tensor of input ``index``: in its memory, or, if ``rebind``, in new memory."""

    index: int
    rebind: bool


@dataclasses.dataclass(slots=True)
class Alias:
    """A result that is not created: the tensor at ``place``, or output number ``nr``, or a view of it."""

    place: Any
    nr: int | None
    chain: tuple | None  # the steps of the view; None for the tensor itself
    detached: bool

    def base(self, arguments, outputs) -> Tensor:
        return self.place.find(arguments) if self.nr is None else outputs[self.nr]

    def steps(self, outputs) -> tuple:
        """The steps of the view in this run."""
        return tuple([with_key(step, lambda entry: entry.of(outputs) if type(entry) is ComputedIndex else entry)
                      for step in self.chain or ()])


@dataclasses.dataclass(slots=True)
class ComputedIndex:
    """An index in the key of a view that the program computes, as output number ``nr``."""

    nr: int

    def of(self, outputs) -> int:
        return int(outputs[self.nr])


@dataclasses.dataclass(slots=True)
class Assignment:
    """A value to set at a place: an attribute, a global variable, a closure cell. If ``tree`` is MISSING, it is
    deleted."""

    place: Any
    tree: Any


@dataclasses.dataclass(slots=True)
class Refill:
    """New contents for a container from outside, or for the container with this number among the arguments."""

    container: Any
    keys: tuple  # or their tree
    tree: Any


@dataclasses.dataclass(slots=True)
class GradAssignment:
    """A new gradient, or None, for the tensor at place number ``nr``."""

    nr: int
    is_tensor: bool


@dataclasses.dataclass(slots=True)
class GradState:
    """Whether the tensor at place number ``nr`` had a gradient at compilation."""

    nr: int
    is_there: bool


@dataclasses.dataclass(slots=True)
class HookState:
    """The hooks of the tensor at place number ``nr`` at compilation."""

    nr: int
    hooks: tuple
