"""Loops over time."""

import numpy as np

from .. import NUMPY as engine
from .._formulas import GATES, define


@engine.kernel
def scan(body, weights, carry, xs, reverse, stack=np.stack):
    """``carry, y = body(weights, carry, x)`` for each x along the first dimension: the last carry, and all y stacked.

    `xs` and y are nested tuples of arrays or None; `stack` stacks corresponding parts of y.
    """
    times = range(_length(xs))
    found = []
    for time in reversed(times) if reverse else times:
        carry, y = body(weights, carry, _at(xs, time))
        found.append(y)
    if reverse:
        found.reverse()
    return carry, _together(found, stack)


def _length(xs):
    while isinstance(xs, tuple):
        xs = xs[0]
    return len(xs)


def _at(xs, time):
    if isinstance(xs, tuple):
        return tuple([_at(x, time) for x in xs])
    return None if xs is None else xs[time]


def _together(ys, stack):
    if isinstance(ys[0], tuple):
        return tuple([_together(parts, stack) for parts in zip(*ys)])
    return stack(ys)


define(engine, *GATES)
