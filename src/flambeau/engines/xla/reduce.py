"""The XLA twins of the kernels in ``engines/numpy/reduce.py``."""

import jax
import jax.numpy as jnp
import numpy as np

from . import engine


@engine.kernel
def total(x):
    return jnp.sum(x, dtype=np.int64 if x.dtype.kind in "biu" else None)


@engine.kernel
def variance(x, axis, keepdims, correction):
    away = x - jnp.mean(x, axis=axis, keepdims=True)
    squares = jnp.sum((away * away.conj()).real, axis=axis, keepdims=keepdims)
    count = x.size // max(squares.size, 1)
    return squares / jnp.maximum(count - correction, 0)  # jax's returns nan where PyTorch's is infinite


@engine.kernel
def deviation(x, axis, keepdims, correction):
    return jnp.sqrt(variance(x, axis, keepdims, correction))


@engine.kernel
def logsumexp(x, axis, keepdims):
    return jax.nn.logsumexp(x, axis=axis, keepdims=keepdims)


@engine.kernel
def softmax(x, axis):
    return jax.nn.softmax(x, axis=axis)


@engine.kernel
def log_softmax(x, axis):
    return jax.nn.log_softmax(x, axis=axis)


@engine.kernel
def softmax_pull(g, out, axis):
    return out * (g - jnp.sum(g * out, axis=axis, keepdims=True))


@engine.kernel
def log_softmax_pull(g, out, axis):
    return g - jnp.exp(out) * jnp.sum(g, axis=axis, keepdims=True)


@engine.kernel
def norm2(x, axis, keepdims):
    return jnp.sqrt(jnp.sum(jnp.real(x * jnp.conj(x)), axis=axis, keepdims=keepdims))


@engine.kernel
def take_along(x, index, axis):
    return jnp.take_along_axis(x, index, axis)


@engine.kernel
def put_along(g, index, axis, shape):
    if index.shape[axis] == 1:  # XLA fuses a comparison, but not a scatter
        return jnp.where(jax.lax.broadcasted_iota(index.dtype, shape, axis) == index, g, 0)
    return jnp.put_along_axis(jnp.zeros(shape, g.dtype), index, g, axis, inplace=False)
