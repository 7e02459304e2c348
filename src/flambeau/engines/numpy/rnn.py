"""Loops over time, and what is done in them."""

from __future__ import annotations

import numpy as np

from .. import NUMPY as engine


@engine.kernel
def scan(body, weights, carry, xs, reverse, stack=np.stack):
    """``carry, y = body(weights, carry, x)`` for each x along the first dimension: the last carry, and all y in order.

    `xs` and y are nested tuples of arrays, with None for what is not there; `stack` puts equal parts of y together.
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


# ---- the gates of an LSTM, one after the other in the last dimension: input, forget, cell, output


@engine.kernel
def lstm_gates(x, hidden, c):
    """(the new hidden state, the new cell state, the gates) from what input and hidden state give to the gates."""
    i, f, g, o = np.split(x + hidden, 4, axis=-1)
    i, f, g, o = engine.sigmoid(i), engine.sigmoid(f), np.tanh(g), engine.sigmoid(o)
    c = f * c + i * g
    return o * np.tanh(c), c, np.concatenate([i, f, g, o], -1)


@engine.kernel
def lstm_gates_pull(g_h, g_c, g_gates, gates, c, previous):
    """The gradients of x (and of hidden), and of the cell state before, from those of the three results."""
    i, f, g, o = np.split(gates, 4, axis=-1)
    g_i, g_f, g_g, g_o = np.split(g_gates, 4, axis=-1)
    t = np.tanh(c)
    g_c = g_c + g_h * o * (1 - t * t)
    g_x = np.concatenate([
        (g_c * g + g_i) * i * (1 - i),
        (g_c * previous + g_f) * f * (1 - f),
        (g_c * i + g_g) * (1 - g * g),
        (g_h * t + g_o) * o * (1 - o),
    ], -1)
    return g_x, g_c * f
