"""Memory of GPUs, as JAX counts it. Without a GPU it is 0."""

from __future__ import annotations

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
    """Bytes that arrays take up."""
    return _stat("bytes_in_use", device)


def max_memory_allocated(device=None):
    """The most bytes that arrays took up since the process began."""
    return _stat("peak_bytes_in_use", device)


def memory_reserved(device=None):
    """Bytes that the allocator holds."""
    return _stat("pool_bytes", device)


def max_memory_reserved(device=None):
    """The most bytes that the allocator held since the process began."""
    return _stat("peak_pool_bytes", device)


def memory_stats(device=None):
    """What JAX counts, by its own names."""
    return OrderedDict(sorted((jax_devices()[index_of(device)].memory_stats() or {}).items())) if is_available() else (
        OrderedDict()
    )


def mem_get_info(device=None):
    """Free and total bytes, of those that JAX may use."""
    index = index_of(device)
    total = _stat("bytes_limit", index)
    return total - _stat("bytes_in_use", index), total


def empty_cache():
    """Gives back cached memory: there is nothing to do, as JAX keeps one pool for the process."""


def reset_peak_memory_stats(device=None):
    """Not possible with JAX: it raises."""
    index_of(device)
    raise RuntimeError(CANNOT_RESET)
