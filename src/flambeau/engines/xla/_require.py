"""Requirements on elements: checked immediately, or for unknown values by the program when it runs."""

import jax.numpy as jnp

from .. import demand
from ..numpy.index import OUT_OF_BOUNDS


def require(holds, values, error, message, **details):
    """Raises `error` unless all of `holds` is true; ``{index}`` in its message is the first invalid one of `values`."""
    if not holds.size:
        return
    holds = jnp.ravel(holds)
    wrong = jnp.broadcast_to(jnp.ravel(values), holds.shape)[jnp.argmin(holds)]
    demand(holds.all(), wrong, lambda index: error(message.format(index=index, **details)))


def within(index, size, dim, *, wraps=False, error=IndexError, message=OUT_OF_BOUNDS):
    """Requires that indices are below `size`, and nonnegative unless they count from the end (`wraps`)."""
    if index.dtype != bool:
        lowest = -size if wraps else 0
        require((index >= lowest) & (index < size), index, error, message, dim=dim, size=size)
