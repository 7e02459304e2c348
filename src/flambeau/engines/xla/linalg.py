"""Matrix kernels that jax.numpy does not have by these names."""

from __future__ import annotations

import jax.numpy as jnp

from . import engine


@engine.kernel
def add_scaled(x, product, beta, alpha):
    if product.dtype.kind in "biu":
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return jnp.broadcast_to(product, jnp.broadcast_shapes(x.shape, product.shape))
    return (product + x * beta).astype(product.dtype)


@engine.kernel
def linear(x, weight, bias):
    out = jnp.matmul(x, weight.T)
    return out if bias is None else out + bias
