"""Matrix products and decompositions that NumPy lacks, or does not have as we need them."""

from __future__ import annotations

import math

import numpy as np

from .. import NUMPY as engine

_STANDARD = 22  # the highest type number of NumPy's own types but float16: BLAS has no half precision


@engine.kernel
def matmul(a, b):
    """np.matmul; half precision is multiplied in float32 and rounded once."""
    if a.dtype.num <= _STANDARD:
        return np.matmul(a, b)
    return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)


@engine.kernel
def add_scaled(x, product, beta, alpha):
    """``beta * x + alpha * product``; with beta 0, x is not looked at. `product` is the caller's to give away."""
    dtype = product.dtype
    if dtype.kind in "biu":
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        shape = np.broadcast_shapes(x.shape, product.shape)
        return product if product.shape == shape else np.broadcast_to(product, shape).copy()
    addend = x if beta == 1 else x * beta
    if isinstance(product, np.ndarray) and np.broadcast_shapes(addend.shape, product.shape) == product.shape:
        return np.add(product, addend, out=product, dtype=dtype, casting="unsafe")
    return np.add(product, addend).astype(dtype, copy=False)


@engine.kernel
def linear(x, weight, bias):
    shape = x.shape
    if x.ndim != 2:
        x = x.reshape(math.prod(shape[:-1]), shape[-1])
    out = engine.matmul(x, weight.T)
    if bias is not None:
        out += bias
    return out if len(shape) == 2 else out.reshape(*shape[:-1], weight.shape[0])
