"""Optimizer steps: one call updates a list of parameters and their state in place.

``adam_step(written, grads, numbers, flags)`` and its relatives: ``written`` contains the list of parameters, and a list
for each kind of state; ``numbers`` has the numbers of the formula for each parameter. See ``engines/_updates.py``.
"""

import functools

import numpy as np

from ..._fp_errors import call_without_fp_warnings
from .. import NUMPY as engine
from .._updates import FORMULAS

CHUNK = 8192  # elements that a formula processes at a time, so that intermediates stay in the cache


@engine.kernel
def number(array):
    """The only element of an array as a NumPy number."""
    return float(array.item())


def step(formula, written, grads, numbers, flags):
    """Applies a formula to each parameter of a list."""
    for nr, g in enumerate(grads):
        call_without_fp_warnings(update, formula, [arrays[nr] for arrays in written], g, numbers[nr], flags)
    return written


def update(formula, own, g, numbers, flags):
    """Applies a formula to arrays in place."""
    wide = np.float32 if g.itemsize < 4 else g.dtype  # half precision is rounded once, at the end
    for part, *pieces in pieces_of([g, *own]):
        new = formula(engine, part.astype(wide, copy=False), numbers, flags,
                      *[piece.astype(wide, copy=False) for piece in pieces])
        for piece, value in zip(pieces, new, strict=True):
            piece[...] = value


def pieces_of(arrays):
    """Corresponding parts of arrays of one shape, small enough for the cache."""
    if arrays[0].size <= CHUNK:
        yield arrays
    elif all([a.flags.c_contiguous for a in arrays]):
        flat = [a.reshape(-1) for a in arrays]
        for start in range(0, flat[0].size, CHUNK):
            yield [a[start:start + CHUNK] for a in flat]
    else:
        for rows in zip(*arrays, strict=True):
            yield from pieces_of(rows)


for _name, _formula in FORMULAS.items():
    _kernel = functools.partial(step, _formula)
    _kernel.__name__ = _name  # type: ignore[attr-defined]
    setattr(engine, _name, _kernel)
