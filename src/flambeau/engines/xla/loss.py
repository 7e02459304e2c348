"""The XLA twins of the kernels in ``engines/numpy/loss.py``: values cannot be checked inside a compiled program."""

from __future__ import annotations

import jax.numpy as jnp

from . import engine


@engine.kernel
def class_targets(target, ignore, classes):
    kept = target != ignore
    return kept, jnp.where(kept, target, 0)


@engine.kernel
def probabilities(x):
    return x
