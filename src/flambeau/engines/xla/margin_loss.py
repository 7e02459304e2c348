"""The XLA twins of the kernels in ``engines/numpy/margin_loss.py``."""

import jax
import jax.numpy as jnp

from . import engine


@engine.kernel
def multilabel_margin(x, target):
    rows, classes = jnp.arange(x.shape[0]), x.shape[1]
    valid = jnp.cumsum(target < 0, axis=1) == 0
    safe = jnp.where(valid, target, 0)
    labels = jnp.zeros(x.shape, jnp.int32).at[rows[:, None], safe].add(valid)

    def add_label(sums, place):
        label, counts = place
        short = 1 - x[rows, label][:, None] + x
        hit = (short > 0) & (labels == 0) & counts[:, None]
        loss, slopes = sums
        slopes = (slopes + hit).at[rows, label].add(-hit.sum(1).astype(x.dtype))
        return (loss + jnp.where(hit, short, 0).sum(1), slopes), None

    start = jnp.zeros(x.shape[0], x.dtype), jnp.zeros_like(x)
    (loss, slopes), _ = jax.lax.scan(add_label, start, (safe.T, valid.T))
    return loss / classes, slopes / classes
