"""How exactly float32 is multiplied on devices that have a faster way, as GPUs have TensorFloat-32."""

from __future__ import annotations

import contextlib
import threading

from ._threads import per_thread


class Precision:
    """What the user allows.

    Attributes:
        matmul: "highest", or "high" or "medium", which let products of matrices be rounded.
        cudnn: whether those in convolutions and recurrent layers may be.
        before_change: what is called before one of them is set: what was recorded runs as it was recorded.
    """

    def __init__(self):
        self.matmul = "highest"
        self.cudnn = True
        self.before_change = []

    def set(self, **choices):
        """Sets attributes."""
        for call in self.before_change:
            call()
        vars(self).update(choices)

    @property
    def key(self):
        """What the products of a program depend on, besides which of them are those of recurrent layers."""
        return self.matmul == "highest", self.cudnn


class _Layer(threading.local):
    is_recurrent = False  # whether products are those of a recurrent layer


precision = Precision()
layer = per_thread(_Layer())


@contextlib.contextmanager
def recurrent_layer(inside=True):
    """A context in which products are those of a recurrent layer, or are not."""
    before, layer.is_recurrent = layer.is_recurrent, inside
    try:
        yield
    finally:
        layer.is_recurrent = before


def are_products_exact():
    """Whether products of matrices in float32 must not be rounded."""
    return not precision.cudnn if layer.is_recurrent else precision.matmul == "highest"


@contextlib.contextmanager
def precisely(key):
    """A context in which products are those of a program with this ``Precision.key``."""
    if key == precision.key:
        yield
        return
    before = vars(precision).copy()
    exact, precision.cudnn = key
    precision.matmul = "highest" if exact else "high"
    try:
        yield
    finally:
        vars(precision).update(before)
