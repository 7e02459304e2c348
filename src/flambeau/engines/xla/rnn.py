"""The XLA twins of the kernels in ``engines/numpy/rnn.py``."""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from ..._precision import precision, recurrent_layer
from .._formulas import GATES, define
from . import engine


@engine.kernel
def scan(body, weights, carry, xs, reverse):
    return jitted_scan(body, weights, carry, xs, reverse, precision.key)


@functools.partial(jax.jit, static_argnames=("body", "reverse", "precision"))
def jitted_scan(body, weights, carry, xs, reverse, precision):
    """``jax.lax.scan`` that stores results in the memory of inputs of the same shape, if there are any.

    Each step reads an input before overwriting it; inputs needed later are copied by XLA. For results in memory of
    their own, XLA writes zeros first, for all loops of a program at its start.

    Args:
        precision: read by the body; as a static argument it makes jax trace again when it changes.
    """
    arrays, inputs = jax.tree.flatten(xs)
    count = arrays[0].shape[0]

    def step(carry, arrays, time):
        with recurrent_layer():
            return body(weights, carry, inputs.unflatten([lax.dynamic_index_in_dim(a, time, 0, False) for a in arrays]))

    shapes, results = jax.tree.flatten(jax.eval_shape(step, carry, arrays, 0)[1])
    places = []  # indices of the results' arrays
    for shape in shapes:
        kind = (count, *shape.shape), shape.dtype
        fitting = [i for i, a in enumerate(arrays) if (a.shape, a.dtype) == kind and i not in places]
        if not fitting:
            fitting.append(len(arrays))
            arrays.append(jnp.zeros(*kind))
        places.append(fitting[-1])

    def advance(i, state):
        carry, arrays = state
        time = count - 1 - i if reverse else i
        carry, found = step(carry, arrays[:inputs.num_leaves], time)
        for place, a in zip(places, jax.tree.leaves(found), strict=True):
            arrays[place] = lax.dynamic_update_index_in_dim(arrays[place], a, time, 0)
        return carry, arrays

    carry, arrays = lax.fori_loop(0, count, advance, (carry, arrays))
    return carry, results.unflatten([arrays[i] for i in places])


define(engine, *GATES)
