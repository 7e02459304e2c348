"""Sums of gradients: in place if there are no other references, and reduced to the shape of their values."""

import sys

import numpy as np

from .._device import strided
from .._modes import modes
from .._size import broadcasts
from .._tensor import LEAF, Tensor, wrap
from ..engines import NUMPY, engine_of
from ..ops.convert import copy_in_layout
from ..ops.reduce import sum_to
from ..ops.shape import cast


def plus(a, b):
    """The sum of two gradients. (For two scalars NumPy returns a number, which becomes an array again.)"""
    total = a + b
    return np.asarray(total) if isinstance(total, np.generic) else total


def add_to(state, grad):
    """Adds a gradient to a target's accumulated one, in place if there are no other references to it."""
    held = state[1]
    if sys.getrefcount(held) <= HELD and can_add_in_place(held, grad) and held.shape == grad.shape:
        np.add(held, grad, held)
    else:
        state[1] = plus(held, grad)


def add_at_index(node, grad, state):
    """Adds the gradient of an indexing op to the indexed value's accumulated gradient in place, if that has no other
    references; otherwise scatters it into zeros. Returns whether it was added."""
    target, nr = node._edges[0]
    if nr != LEAF and target._count != 1:
        return False
    held = state[target][1]
    if sys.getrefcount(held) > HELD or not can_add_in_place(held, grad) or held.shape != node.shapes[0]:
        return False
    held[node.settings["key"]] += grad
    return True


def can_add_in_place(held, grad):
    if held is None or isinstance(held, Tensor) or isinstance(grad, Tensor) or engine_of(held, grad) is not NUMPY:
        return False
    return held.base is None and held.flags.writeable and held.dtype == grad.dtype


def references_of_a_state():
    """The reference count, in ``add_to``, of a gradient without other references."""
    state = [0, np.zeros(1)]

    def count():
        held = state[1]
        return sys.getrefcount(held)

    return count()


HELD = references_of_a_state()


def fit_gradient(grad, target, nr):
    """A gradient summed to the shape, and cast to the dtype, of its value."""
    shape, dtype = (target._a.shape, target._a.dtype) if nr == LEAF else target._output(nr)
    own = grad
    if isinstance(grad, Tensor):
        own = grad._a
    elif isinstance(grad, np.generic):
        own = grad = np.asarray(grad)
    if own.shape != shape:
        if not broadcasts(shape, own.shape):
            raise RuntimeError(
                f"a backward returned an invalid gradient: got {list(own.shape)} but expected shape compatible with "
                f"{list(shape)}"
            )
        grad = sum_to(grad, shape)
    if own.dtype is not dtype and own.dtype != dtype:
        grad = cast(grad, dtype=dtype)
    return grad


def sum_in_layout(held, grad):
    """The sum of two recorded gradients, with the strides of the first of them."""
    if held.layout is grad.layout is strided and held.stride() != grad.stride():
        grad = copy_in_layout(wrap(held._a), grad)
    return held + grad


def has_layout_of(grad, value):
    """Whether a gradient owns its memory and, if required, has the strides of its value."""
    if engine_of(grad, value) is not NUMPY:
        return False
    if grad.base is not None:
        return False
    flags = grad.flags
    if not flags.writeable:
        return False
    if not modes.grad_layout:
        return True
    return flags.c_contiguous if value.flags.c_contiguous else grad.strides == value.strides
