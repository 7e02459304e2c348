"""A line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Point(NamedTuple):
    """A point on the line: its position, loss, gradient and directional derivative."""

    t: Any
    loss: float
    grad: Any
    slope: Any


def minimum_of_cubic(a, b, low=None, high=None):
    """The minimum of the cubic through two points with given slopes, clamped to the bounds (default: the points)."""
    low = min(a.t, b.t) if low is None else low
    high = max(a.t, b.t) if high is None else high
    a, b = (a, b) if a.t <= b.t else (b, a)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(evaluate, start, t, length, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """(the accepted point, the number of evaluations).

    Args:
        evaluate: returns the Point at t.
        start: the Point at 0.
        t: the initial step.
        length: the largest absolute element of the direction.
        c1: the constant of the sufficient-decrease condition.
        c2: the constant of the curvature condition.
        tolerance_change: the bracket size at which to stop.
        max_ls: the maximum number of evaluations after the first.
    """
    def is_worse(point):
        return point.loss > start.loss + c1 * point.t * start.slope

    def is_flat(point):
        return abs(point.slope) <= -c2 * start.slope

    before, point, tries = start, evaluate(t), 0
    while tries < max_ls:
        if is_worse(point) or (tries > 1 and point.loss >= before.loss) or (not is_flat(point) and point.slope >= 0):
            bracket = [before, point]
            break
        if is_flat(point):
            return point, tries + 1
        further = minimum_of_cubic(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10)
        before, point, tries = point, evaluate(further), tries + 1
    else:
        bracket = [start, point]
    return zoom(evaluate, bracket, tries, is_worse, is_flat, length, tolerance_change, max_ls)


def zoom(evaluate, bracket, tries, is_worse, is_flat, length, tolerance_change, max_ls):
    """Shrinks the bracket around an acceptable point; the best end is the result."""
    low, high = sorted(bracket, key=lambda point: point.loss)
    stalls, done = False, False
    while not done and tries < max_ls and abs(high.t - low.t) * length >= tolerance_change:
        t = minimum_of_cubic(*bracket)
        t, stalls = away_from_ends(t, min(low.t, high.t), max(low.t, high.t), stalls)
        point, tries = evaluate(t), tries + 1
        if is_worse(point) or point.loss >= low.loss:
            high = point
            low, high = (low, high) if low.loss <= high.loss else (high, low)
        else:
            done = is_flat(point)
            if not done and point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
        bracket = [low, high]
    return low, tries + 1


def away_from_ends(t, first, last, stalls):
    """(t, whether it is close to an end of the bracket): the second time in a row, t is moved away from the end."""
    margin = 0.1 * (last - first)
    if min(last - t, t - first) >= margin:
        return t, False
    if not (stalls or t >= last or t <= first):
        return t, True
    return (last - margin if abs(t - last) < abs(t - first) else first + margin), False
