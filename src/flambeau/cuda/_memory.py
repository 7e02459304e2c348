"""GPU memory, as counted by JAX; 0 without a GPU."""

from collections import OrderedDict

from .._device import AcceleratorError, OutOfMemoryError
from ._devices import index_of, is_available, jax_devices

__all__ = [
    "AcceleratorError", "OutOfMemoryError", "empty_cache", "max_memory_allocated", "max_memory_reserved",
    "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats", "reset_peak_memory_stats",
]

CANNOT_RESET = (
    "the peak of the GPU's memory cannot be reset: JAX counts it from the start of the process. Measure in a process "
    "of its own."
)


def _stat(name, device):
    return (jax_devices()[index_of(device)].memory_stats() or {}).get(name, 0) if is_available() else 0


def memory_allocated(device=None):
    """Bytes used by arrays."""
    return _stat("bytes_in_use", device)


def max_memory_allocated(device=None):
    """Peak bytes used by arrays since the process started."""
    return _stat("peak_bytes_in_use", device)


def memory_reserved(device=None):
    """Bytes held by the allocator."""
    return _stat("pool_bytes", device)


def max_memory_reserved(device=None):
    """Peak bytes held by the allocator since the process started."""
    return _stat("peak_pool_bytes", device)


def memory_stats(device=None):
    """JAX's memory statistics, under its own names."""
    return OrderedDict(sorted((jax_devices()[index_of(device)].memory_stats() or {}).items())) if is_available() else (
        OrderedDict()
    )


def mem_get_info(device=None):
    """Free and total bytes available to JAX."""
    index = index_of(device)
    total = _stat("bytes_limit", index)
    return total - _stat("bytes_in_use", index), total


def empty_cache():
    """Does nothing, as JAX keeps one memory pool for the process."""


def reset_peak_memory_stats(device=None):
    """Not supported by JAX: raises."""
    index_of(device)
    raise RuntimeError(CANNOT_RESET)
