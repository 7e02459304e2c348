"""Precision of float32 products on devices with a faster mode, such as TensorFloat-32 on GPUs."""

import contextlib
import threading

from ._threads import per_thread


class Precision:
    """The user's settings.

    Attributes:
        matmul: "highest", or "high" or "medium", which allow matrix products in reduced precision.
        cudnn: whether convolutions and recurrent layers may use reduced precision.
        before_change: called before a setting changes, so that recorded calls run with the old one.
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
        """The settings that a program depends on, as a cache key."""
        return self.matmul == "highest", self.cudnn


class _Layer(threading.local):
    is_recurrent = False  # whether products belong to a recurrent layer


precision = Precision()
layer = per_thread(_Layer())


@contextlib.contextmanager
def recurrent_layer(inside=True):
    """A context in which products count as those of a recurrent layer, unless `inside` is False."""
    before, layer.is_recurrent = layer.is_recurrent, inside
    try:
        yield
    finally:
        layer.is_recurrent = before


def are_products_exact():
    """Whether float32 matrix products must use full precision."""
    return not precision.cudnn if layer.is_recurrent else precision.matmul == "highest"


@contextlib.contextmanager
def precisely(key):
    """A context with the settings of this ``Precision.key``."""
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
