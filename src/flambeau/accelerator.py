"""The accelerator of this machine, whichever it is."""

from __future__ import annotations

from . import cuda
from ._device import device

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available", "set_device_index",
    "synchronize",
]

NONE = "Cannot access accelerator device when none is available."


def is_available():
    """Whether there is one."""
    return cuda.is_available()


def device_count():
    """How many there are."""
    return cuda.device_count()


def current_accelerator(check_available=False):
    """Its device, without an index; None where there is none."""
    return device("cuda") if is_available() else None


def _check():
    if not is_available():
        raise RuntimeError(NONE)


def current_device_index():
    """The number of the current one."""
    _check()
    return cuda.current_device()


def set_device_index(device):
    """Sets the current one."""
    _check()
    cuda.set_device(device)


def synchronize(device=None):
    """Waits until it has done what was asked of it."""
    _check()
    cuda.synchronize(device)


def empty_cache():
    """Gives back cached memory: there is nothing to do."""
    _check()
