"""Random numbers on a device: jax's counter-based generator, with keys drawn from the device's generator.

So that generator has all of the state: seeds, saved states and forks work as usual.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..._device import CPU
from ..._modes import modes
from . import engine
from .lazy import Graph, record, record_call
from .memory import jax_device, operand


def draw_key(generator):
    """Two words, the key of a program's random numbers and one of its inputs."""
    with generator._lock:
        return generator._words32(2).astype(np.uint32)


# ---- draws, named after the kernels of NumPy: (key, shape, dtype, values) -> numbers


def fill_uniform(key, shape, dtype, low=0.0, high=1.0):
    return jax.random.uniform(key, shape, dtype, low, high)


def fill_normal(key, shape, dtype, mean=0.0, std=1.0):
    return (mean + std * jax.random.normal(key, shape, dtype)).astype(dtype)


def fill_exponential(key, shape, dtype, rate=1):
    drawn = jnp.maximum(jax.random.exponential(key, shape, dtype), jnp.finfo(dtype).eps / 2)  # for logarithms
    return (drawn / rate).astype(dtype)


def fill_bernoulli(key, shape, dtype, p):
    return (jax.random.uniform(key, shape, jnp.float32) < p).astype(dtype)


def fill_random(key, shape, dtype, low, high):
    return jax.random.randint(key, shape, low, high, dtype)


def permutation(key, shape, dtype):
    return jax.random.permutation(key, shape[0]).astype(dtype)


# Conditions on dtypes and values. The CPU handles, or rejects, all other cases.
DRAWS = {
    "fill_uniform": (fill_uniform, lambda dtype, low=0, high=1: is_real(dtype) and low <= high),
    "fill_normal": (fill_normal, lambda dtype, mean=0, std=1: is_real(dtype) and std >= 0),
    "fill_exponential": (fill_exponential, lambda dtype, rate=1: is_real(dtype) and rate > 0),
    "fill_bernoulli": (fill_bernoulli, lambda dtype, p: 0 <= p <= 1),
    "fill_random": (fill_random, lambda dtype, low, high: is_range_of(dtype, low, high)),
    "permutation": (permutation, lambda dtype: True),
}


def is_real(dtype):
    return jnp.issubdtype(dtype, jnp.floating)


def is_range_of(dtype, low, high):
    """Whether a dtype has all integers in [low, high)."""
    if dtype.kind not in "iu" or low is None or high is None:
        return False
    limits = np.iinfo(dtype)
    return limits.min <= low < high <= limits.max


@engine.immediate
def draw(kernel, generator, shape, dtype, device, *values):
    function, serves = DRAWS.get(kernel, (None, None))
    if function is None or not all([v is None or isinstance(v, (int, float)) for v in values]):
        return None
    if not serves(dtype, *values):
        return None
    modes.tracer.enter_device(device)
    arguments = (function, modes.tracer.draw_key(draw_key, generator), tuple(shape), dtype, *map(operand, values))
    return record_call(draw_by_key, arguments, {}, Graph.on(jax_device(device)))[0]


def draw_by_key(function, words, shape, dtype, *values):
    return function(jax.random.wrap_key_data(words, impl="threefry2x32"), shape, dtype, *values)


@engine.immediate
def dropout_scale(generator, like, shape, p):
    if modes.tracer.active and modes.tracer.device is CPU:
        return None
    return record(scale_by_key, (modes.tracer.draw_key(draw_key, generator), like, shape, float(p)), {})


def scale_by_key(words, like, shape, p):
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    kept = jax.random.uniform(key, shape, jnp.float32) >= p
    return jnp.where(kept, 1 / (1 - p), 0).astype(like.dtype)
