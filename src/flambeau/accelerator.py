"""The accelerator of this machine, of any kind."""

from . import cuda
from ._device import device

__all__ = [
    "Event", "Stream", "current_accelerator", "current_device_idx", "current_device_index", "current_stream",
    "device_count", "device_index", "empty_cache", "empty_host_cache", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
    "synchronize",
]

NO_EVENTS = "cpu backend doesn't support events: work is done when record() is called; take the time instead."
NONE = "Cannot access accelerator device when none is available."


def is_available():
    """Whether there is an accelerator."""
    return cuda.is_available()


def device_count():
    """The number of accelerators."""
    return cuda.device_count()


def current_accelerator(check_available=False):
    """The accelerator's device type, without an index; None if there is none."""
    return device("cuda") if is_available() else None


def _check():
    if not is_available():
        raise RuntimeError(NONE)


def current_device_index():
    """The index of the current device."""
    _check()
    return cuda.current_device()


def set_device_index(device):
    """Sets the current device."""
    _check()
    cuda.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index
device_index = cuda.device
current_stream, set_stream = cuda.current_stream, cuda.set_stream


def synchronize(device=None):
    """Waits for all work on a device."""
    _check()
    cuda.synchronize(device)


def empty_cache():
    """Releases cached memory: nothing to do."""
    _check()


def empty_host_cache():
    """Releases cached memory of the host: nothing to do."""
    _check()


memory_allocated, max_memory_allocated = cuda.memory_allocated, cuda.max_memory_allocated
memory_reserved, max_memory_reserved = cuda.memory_reserved, cuda.max_memory_reserved
memory_stats, get_memory_info = cuda.memory_stats, cuda.mem_get_info
reset_peak_memory_stats = cuda.reset_peak_memory_stats
reset_accumulated_memory_stats = cuda.reset_accumulated_memory_stats


class Stream:
    """A queue of work on a device. The CPU runs work synchronously; for GPUs see ``cuda.Stream``."""

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
    """A point in a stream of work, on accelerators only; for GPUs see ``cuda.Event``."""

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
