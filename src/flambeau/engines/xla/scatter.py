"""The XLA twins of the kernels in ``engines/numpy/scatter.py``."""

import jax.numpy as jnp

from . import engine
from ._require import within

COMBINE = {None: "set", "add": "add", "prod": "multiply", "amax": "max", "amin": "min"}


def key_along(index, axis):
    """The key that reads an array at `index` along `axis`, and in order along the others."""
    key = [jnp.arange(n).reshape((1,) * d + (-1,) + (1,) * (index.ndim - 1 - d)) for d, n in enumerate(index.shape)]
    key[axis] = index
    return tuple(key)


@engine.kernel
def gather(x, index, axis):
    if not index.size:
        return jnp.empty(index.shape, x.dtype)
    within(index, x.shape[axis], axis, error=RuntimeError)
    return x[key_along(index, axis)]


@engine.kernel
def scatter(x, index, src, axis, how=None, into=False):
    if not index.size:
        return x
    if jnp.ndim(src):
        src = src[tuple([slice(n) for n in index.shape])]
    within(index, x.shape[axis], axis, error=RuntimeError)
    at = x.at[key_along(index, axis)]
    return getattr(at, COMBINE[how])(jnp.asarray(src, x.dtype))
