"""The XLA twins of the kernels in ``engines/numpy/rnn.py``."""

from __future__ import annotations

import functools

import jax

from ..._precision import precision, recurrent_layer
from .._formulas import GATES, define
from . import engine


@engine.kernel
def scan(body, weights, carry, xs, reverse):
    return jitted_scan(body, weights, carry, xs, reverse, precision.key)


@functools.partial(jax.jit, static_argnames=("body", "reverse", "precision"))
def jitted_scan(body, weights, carry, xs, reverse, precision):
    """Args:
        precision: known to the body, and hence part of what jax knows this by.
    """
    with recurrent_layer():
        return jax.lax.scan(lambda carry, x: body(weights, carry, x), carry, xs, reverse=reverse)


define(engine, *GATES)
