"""The windows of images as columns, and the transpose."""

import itertools
import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import NUMPY as engine
from .conv import inside, out_sizes, pad_zeros, window_key


@engine.kernel
def im2col(x, kernel, dilation, padding, stride):
    out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    x = pad_zeros(x, padding)
    steps = x.strides[2:]
    windows = as_strided(
        x, (*x.shape[:2], *kernel, *out),
        (*x.strides[:2], *[s * d for s, d in zip(steps, dilation, strict=True)],
         *[s * t for s, t in zip(steps, stride, strict=True)]),
    )
    columns = windows.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out))
    return columns.copy() if np.may_share_memory(columns, x) else columns  # the windows do not overlap


@engine.kernel
def col2im(columns, sizes, kernel, dilation, padding, stride):
    out = out_sizes(sizes, kernel, stride, padding, dilation)
    samples, channels = columns.shape[0], columns.shape[1] // math.prod(kernel)
    windows = columns.reshape(samples, channels, *kernel, *out)
    wide = np.zeros((samples, channels, *[n + 2 * p for n, p in zip(sizes, padding, strict=True)]), columns.dtype)
    for place in itertools.product(*map(range, kernel)):
        wide[window_key(place, out, stride, dilation)] += windows[(slice(None), slice(None), *place)]
    return wide[inside(padding, sizes)]
