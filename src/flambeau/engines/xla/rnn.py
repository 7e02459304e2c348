"""The XLA twins of the kernels in ``engines/numpy/rnn.py``."""

from __future__ import annotations

import functools

import jax

from .._formulas import GATES, define
from . import engine


@engine.kernel
@functools.partial(jax.jit, static_argnames=("body", "reverse"))
def scan(body, weights, carry, xs, reverse):
    return jax.lax.scan(lambda carry, x: body(weights, carry, x), carry, xs, reverse=reverse)


define(engine, *GATES)
