"""The accelerator of this machine, whichever it is."""

from __future__ import annotations

from . import cuda
from ._device import device

__all__ = [
    "Event", "Stream", "current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available",
    "set_device_index", "synchronize",
]

NO_EVENTS = "cpu backend doesn't support events: work is done when record() is called; take the time instead."
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


class Stream:
    """A queue of work on a device. On the CPU work is done when it is asked for; a GPU's is ``cuda.Stream``."""

    def __new__(cls, device=None, *, priority=0):
        wanted = _device_of(device)
        if cls is Stream and wanted.type != "cpu":
            return cuda.Stream(wanted, priority)
        stream = super().__new__(cls)
        stream.device = wanted
        return stream

    def query(self):
        """Whether all work is done."""
        return True

    def synchronize(self):
        """Nothing to wait for."""


class Event:
    """A point in a stream of work, which only accelerators have; a GPU's is ``cuda.Event``."""

    def __new__(cls, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        wanted = _device_of(device)
        if cls is Event and wanted.type != "cpu":
            return cuda.Event(enable_timing, blocking, interprocess)
        event = super().__new__(cls)
        event.device = wanted
        return event

    def record(self, stream=None):
        """Raises: the CPU has no streams to record in."""
        raise RuntimeError(NO_EVENTS)

    wait = record


def _device_of(given):
    return device(given) if given is not None else current_accelerator() or device("cpu")
