"""Forward-mode automatic differentiation: tensors with tangents, which operations propagate.

Example::

    >>> from flambeau.autograd.forward_ad import dual_level, make_dual, unpack_dual
    >>> x, t = flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 0.0])
    >>> with dual_level():
    ...     y = make_dual(x, t) ** 3
    ...     unpack_dual(y).tangent
    tensor([3., 0.])
"""

from __future__ import annotations

from typing import NamedTuple

from .._dtypes import is_inexact
from .._modes import _ModeContext, modes
from .._tensor import Tensor
from ..engines.levels import LevelArray
from ..ops.shape import alias
from ..transforms.dual import SIZES, Dual, DualLevel

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

NO_LEVEL = (
    "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first, or to "
    "be inside of dual_level()."
)
NESTED = (
    "Nested forward mode AD is not supported at the moment: there is a dual level already. func.jvp() can be nested."
)
NOT_ENTERED = "Dual level must be a positive number: there is no level to exit; call enter_dual_level() first."
WRONG_LEVEL = "Trying to exit forward AD level {level}, which is not the current one ({current})."
NOT_FLOATING = "Expected {what} to be floating point or complex, but got: {dtype}"
NO_TENSOR = "make_dual(): expected {what} to be a Tensor, but got {kind}"
TWICE = (
    "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level {level} is not "
    "supported. Unpack it first."
)


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None if it has none."""

    primal: Tensor
    tangent: Tensor | None


def current():
    """The current dual level, or None."""
    return next((level for level in modes.levels if isinstance(level, _EnteredLevel)), None)


class _EnteredLevel(DualLevel):
    """The level that this module's functions use; ``func.jvp`` has others."""

    takes_any_function = True

    def make(self, primal, tangent):
        """A tensor of this level, from which backward() continues into the graph of the primal."""
        dual = super().make(primal, tangent)
        if modes.grad and primal.requires_grad:
            alias.spec.record((primal,), (primal._a,), dual._a, dual, {})
        return dual


def enter_dual_level():
    """Enters a level for dual tensors, and returns its number."""
    if current() is not None:
        raise RuntimeError(NESTED)
    _EnteredLevel().__enter__()
    return 0


def exit_dual_level(*, level=None):
    """Exits the level: tensors lose their tangents."""
    entered = current()
    if entered is None:
        raise RuntimeError(NOT_ENTERED)
    if level not in (None, 0):
        raise RuntimeError(WRONG_LEVEL.format(level=level, current=0))
    entered.__exit__()


def make_dual(tensor, tangent, *, level=None):
    """A view of `tensor` with a tangent."""
    entered = current()
    if entered is None:
        raise RuntimeError(NO_LEVEL)
    check_dual(tensor, tangent)
    if entered.tangent(tensor) is not None:
        raise RuntimeError(TWICE.format(level=0))
    return entered.make(alias(entered.primal(tensor)), tangent)


def check_dual(tensor, tangent):
    """Raises unless a tensor can have the tangent."""
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor):
            raise TypeError(NO_TENSOR.format(what=what, kind=type(t)))
        if not is_inexact(t._a.dtype):
            raise ValueError(NOT_FLOATING.format(what=what, dtype=t.dtype))
    if tensor._a.shape != tangent._a.shape:
        raise RuntimeError(SIZES.format(own=list(tensor.shape), tangent=list(tangent.shape)))


def unpack_dual(tensor, *, level=None):
    """The primal and the tangent of a tensor."""
    entered = current()
    if entered is None:
        ended = isinstance(tensor._a, LevelArray) and isinstance(tensor._a, Dual) and not tensor._a.level.depth
        return UnpackedDualTensor(tensor._a.value if ended else tensor, None)
    return UnpackedDualTensor(entered.primal(tensor), entered.tangent(tensor))


class dual_level(_ModeContext):
    """A context manager and decorator that allows dual tensors."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()
