"""The XLA twins of the kernels in ``engines/numpy/loss.py``."""

import jax.numpy as jnp

from .._formulas import DISTANCES, define
from ..numpy.loss import NO_PROBABILITY, NO_SUCH_CLASS
from . import engine
from ._require import require, within

define(engine, *DISTANCES)


@engine.kernel
def class_targets(target, ignore, classes):
    kept = target != ignore
    safe = jnp.where(kept, target, 0)
    within(safe, classes, 0, message=NO_SUCH_CLASS)
    return kept, safe


@engine.kernel
def probabilities(x, name):
    require((x >= 0) & (x <= 1), x, RuntimeError, NO_PROBABILITY.format(name=name))
    return x
