"""The XLA twins of the kernels in ``engines/numpy/fold.py``."""

import itertools
import math

import jax.numpy as jnp

from ..numpy.conv import inside, out_sizes, window_key
from . import engine


@engine.kernel
def im2col(x, kernel, dilation, padding, stride):
    out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    wide = jnp.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    places = itertools.product(*map(range, kernel))
    windows = jnp.stack([wide[window_key(place, out, stride, dilation)] for place in places], axis=2)
    return windows.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out))


@engine.kernel
def col2im(columns, sizes, kernel, dilation, padding, stride):
    out = out_sizes(sizes, kernel, stride, padding, dilation)
    samples, channels = columns.shape[0], columns.shape[1] // math.prod(kernel)
    windows = columns.reshape(samples, channels, *kernel, *out)
    wide = jnp.zeros((samples, channels, *[n + 2 * p for n, p in zip(sizes, padding, strict=True)]), columns.dtype)
    add = "max" if columns.dtype == bool else "add"
    for place in itertools.product(*map(range, kernel)):
        at = wide.at[window_key(place, out, stride, dilation)]
        wide = getattr(at, add)(windows[(slice(None), slice(None), *place)])
    return wide[inside(padding, sizes)]
