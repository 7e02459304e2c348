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
    """

    def __init__(self):
        self.matmul = "highest"
        self.cudnn = True

    def set(self, **choices):
        """Sets attributes."""
        vars(self).update(choices)

    @property
    def key(self):
        """What a program depends on."""
        return self.matmul == "highest", self.cudnn


class _Layer(threading.local):
    recurrent = False


precision = Precision()
_layer = per_thread(_Layer())


@contextlib.contextmanager
def recurrent_layer():
    """A context in which products are those of a recurrent layer."""
    before, _layer.recurrent = _layer.recurrent, True
    try:
        yield
    finally:
        _layer.recurrent = before


def are_products_exact():
    """Whether products of matrices in float32 must not be rounded."""
    return not precision.cudnn if _layer.recurrent else precision.matmul == "highest"
