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
        """What the products of a program depend on; in a recurrent layer it is another one."""
        return self.matmul == "highest", self.cudnn, _layer.recurrent


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


@contextlib.contextmanager
def precisely(key):
    """A context in which products are those of a program with this ``Precision.key``."""
    if key == precision.key:
        yield
        return
    before = vars(precision).copy(), _layer.recurrent
    exact, precision.cudnn, _layer.recurrent = key
    precision.matmul = "highest" if exact else "high"
    try:
        yield
    finally:
        attributes, _layer.recurrent = before
        vars(precision).update(attributes)
