"""Random numbers on a device: jax's counter-based ones, with keys that the CPU's generator draws.

So the state of that generator is all the state there is: seeds, saved states and forks of it hold for devices too.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..._device import CPU
from ..._modes import modes
from . import engine
from .lazy import record


def draw_key(generator):
    """Two words, by which a program draws its numbers; they are an input of it."""
    with generator._lock:
        return generator._words32(2).astype(np.uint32)


@engine.immediate
def dropout_scale(generator, like, shape, p):
    if modes.tracer.active and modes.tracer.device is CPU:
        return None
    return record(scale_by_key, (modes.tracer.draw_key(draw_key, generator), like, shape, float(p)), {})


def scale_by_key(words, like, shape, p):
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    kept = jax.random.uniform(key, shape, jnp.float32) >= p
    return jnp.where(kept, 1 / (1 - p), 0).astype(like.dtype)
