"""The XLA twins of ``engines/numpy/shape.py``. There are no strides: a view is a copy that XLA may fuse.

Where the NumPy engine writes through a view, these kernels find its elements by viewing the indices of the base, which
are constants in a trace.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..._layout import extent, overlaps
from ..numpy.shape import places
from . import engine


@engine.kernel
def windows(x, axis, size, step):
    if x.ndim == 0:
        return jnp.broadcast_to(x, (size,))
    count = (x.shape[axis] - size) // step + 1
    index = np.arange(count)[:, None] * step + np.arange(size)
    return jnp.moveaxis(x[(slice(None),) * axis + (index,)], axis + 1, -1)  # take() drops dimensions of size 0


@engine.kernel
def fold_windows(g, shape, axis, size, step):
    out = jnp.zeros(shape, g.dtype)
    if not shape:
        return out + g.sum() if size else out
    lead = (slice(None),) * axis
    reach = (g.shape[axis] - 1) * step + 1
    for i in range(size):
        out = out.at[(*lead, slice(i, i + reach, step))].add(g[..., i])
    return out


@engine.kernel
def view_as_real(x):
    return jnp.stack([x.real, x.imag], -1)


@engine.kernel
def view_as_complex(x):
    return jax.lax.complex(x[..., 0], x[..., 1])


@engine.kernel
def as_complex(x):
    return jax.lax.complex(x[..., 0], x[..., 1])


@engine.kernel
def view_dtype(x, dtype):
    old, new = x.dtype.itemsize, np.dtype(dtype).itemsize
    if new > old:
        x = x.reshape(*x.shape[:-1], -1, new // old)
    out = jax.lax.bitcast_convert_type(x, dtype)
    return out.reshape(*out.shape[:-2], -1) if new < old else out


@engine.kernel
def embed_view(g, view_of, shape):
    index = view_of(np.arange(math.prod(shape)).reshape(shape))
    return jnp.zeros(math.prod(shape), g.dtype).at[index.reshape(-1)].set(g.reshape(-1)).reshape(shape)


@engine.kernel
def move_strided(x, strides, offset, to_shape, to_strides, to_offset, *, shared):
    size = max(extent(x.shape, strides, offset), extent(to_shape, to_strides, to_offset))
    storage = jnp.zeros(size, x.dtype).at[places(x.shape, strides, offset)].add(x)
    counted = (x.shape, strides, offset) if shared == "from" else (to_shape, to_strides, to_offset)
    if overlaps(*counted[:2]):
        count = np.bincount(places(*counted).reshape(-1), minlength=size)
        storage = (storage / np.maximum(count, 1)).astype(x.dtype)
    return storage[places(to_shape, to_strides, to_offset)]
