"""What random draws mean for the graph: nothing of the old elements is left."""

from __future__ import annotations

from ._op import op
from .shape import zeros_like


@op
def redrawn(k, x, value, *, node):
    """`value`, drawn in the place of x by the function that `node` is named after."""
    return value


redrawn.vjp(x=lambda g: zeros_like(g), value=lambda g: g)
