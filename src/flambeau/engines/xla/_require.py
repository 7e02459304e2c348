"""What must hold of values that are not known yet: a compiled program tells when it runs."""

from __future__ import annotations

import jax.numpy as jnp

from ..._modes import modes
from .. import demand
from ..numpy.index import OUT_OF_BOUNDS


def require(holds, values, error, message, **details):
    """A compiled program raises `error` unless all of `holds` is true; ``{index}`` is the first wrong one of `values`.

    Outside of the compiler there is nobody to tell.
    """
    if modes.trace is None or not holds.size:
        return
    holds = jnp.ravel(holds)
    wrong = jnp.broadcast_to(jnp.ravel(values), holds.shape)[jnp.argmin(holds)]
    demand(holds.all(), wrong, lambda index: error(message.format(index=index, **details)))


def within(index, size, dim, *, wraps=False, error=IndexError, message=OUT_OF_BOUNDS):
    """Requires of indices to be below `size`, and, unless they count from the end (`wraps`), not below zero."""
    if modes.trace is not None and index.dtype != bool:
        lowest = -size if wraps else 0
        require((index >= lowest) & (index < size), index, error, message, dim=dim, size=size)
