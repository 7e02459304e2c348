"""Helpers of the generated calls of ops."""

import numpy as np

from .._dtypes import FIRST_HALF, check_int
from .._fp_errors import call_without_fp_warnings
from .._modes import in_use
from .._tensor import View, new_tensor, storage_of
from ..engines import NUMPY, engine_of
from ..engines.levels import level_of

_ndarray = np.ndarray


def on_arrays(op, *inputs, **settings):
    """The forward of an op on raw arrays, by the engine that they belong to; as in calls, in float32 if it has to."""
    level = level_of(inputs) if in_use.levels else None
    if level is not None:
        return level.compute(op, inputs, settings)
    k = engine_of(*inputs)
    if k is NUMPY:
        if op.opmath:
            for x in inputs:
                if isinstance(x, _ndarray) and x.dtype.num >= FIRST_HALF:
                    return op.forward_in_opmath(k, *inputs, **settings)
        return op.forward(k, *inputs, **settings)
    return k.run(op.forward, [k.operand(x) for x in inputs], settings)


def as_constant(number, dtype):
    """A number as a 0-dimensional array; unchanged if it does not fit."""
    if type(number) is int:
        check_int(number)
    try:
        return call_without_fp_warnings(np.array, number, dtype)
    except OverflowError:
        return number


def make_view(x, array, step, origin, layout=None):
    """A tensor over `array`, as the view of x by `step`; `origin` is the reason why writes to it raise, if they do.

    The `layout`, (strides, offset) in memory, is computed if not passed.
    """
    storage = x._storage
    if storage is None:
        storage = storage_of(x)
    view = View()
    view.step = step
    view.version = storage.version
    view.parent = above = x._view
    if above is None:
        view.base = x
        view.origin = origin
    else:
        view.base = above.base
        view.origin = origin or above.origin
    t = new_tensor(array)
    t._storage = storage
    t._view = view
    if type(array) is not _ndarray:
        storage.attach(t, array, x, step, layout)
    return t
