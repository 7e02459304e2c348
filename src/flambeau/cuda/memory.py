"""GPU memory, as counted by JAX; 0 without a GPU."""

import warnings
from collections import OrderedDict

from .._device import AcceleratorError, OutOfMemoryError
from ._devices import get_device_name, index_of, is_available, jax_devices

__all__ = [
    "AcceleratorError", "OutOfMemoryError", "empty_cache", "ipc_collect", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_summary", "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats",
]

OLD_PEAK = (
    "the peak of the GPU's memory is from before reset_peak_memory_stats(): JAX counts it from the start of the "
    "process, and it has not risen since. What is returned is an upper bound. To measure exactly, use a process of its "
    "own."
)
PYTORCHS_NAMES = {  # by those of JAX
    "bytes_in_use": ("allocated_bytes.all.current", "active_bytes.all.current"),
    "peak_bytes_in_use": ("allocated_bytes.all.peak", "active_bytes.all.peak"),
    "pool_bytes": ("reserved_bytes.all.current",),
    "peak_pool_bytes": ("reserved_bytes.all.peak",),
    "num_allocs": ("allocation.all.allocated",),
}
SUMMARY = "{name} | {used:.1f} MiB allocated | {peak:.1f} MiB at the peak | {reserved:.1f} MiB reserved"

_reset_peaks: dict[tuple, int] = {}  # peaks at the time they were reset, by statistic and index


def _stats(device):
    return (jax_devices()[index_of(device)].memory_stats() or {}) if is_available() else {}


def _stat(name, device):
    return _stats(device).get(name, 0)


def _peak(name, device):
    found = _stat(name, device)
    if is_available() and found and found == _reset_peaks.get((name, index_of(device))):
        warnings.warn(OLD_PEAK, stacklevel=3)
    return found


def memory_allocated(device=None):
    """Bytes used by arrays."""
    return _stat("bytes_in_use", device)


def max_memory_allocated(device=None):
    """Peak bytes used by arrays since the process started, or since a reset if they have risen since."""
    return _peak("peak_bytes_in_use", device)


def memory_reserved(device=None):
    """Bytes held by the allocator."""
    return _stat("pool_bytes", device)


def max_memory_reserved(device=None):
    """Peak bytes held by the allocator since the process started, or since a reset if they have risen since."""
    return _peak("peak_pool_bytes", device)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def memory_stats(device=None):
    """JAX's memory statistics, under its own names, and under PyTorch's where these mean the same."""
    found = dict(_stats(device))
    for name, others in PYTORCHS_NAMES.items():
        found |= dict.fromkeys(others, found[name]) if name in found else {}
    return OrderedDict(sorted(found.items()))


def memory_summary(device=None, abbreviated=False):
    """The memory in use as a line of text."""
    used, peak, reserved = [
        _stat(name, device) / 2**20 for name in ("bytes_in_use", "peak_bytes_in_use", "pool_bytes")
    ]
    name = get_device_name(device) if is_available() else "no GPU"
    return SUMMARY.format(name=name, used=used, peak=peak, reserved=reserved)


def mem_get_info(device=None):
    """Free and total bytes available to JAX."""
    index = index_of(device)
    total = _stat("bytes_limit", index)
    return total - _stat("bytes_in_use", index), total


def empty_cache():
    """Does nothing, as JAX keeps one memory pool for the process."""


def ipc_collect():
    """Does nothing, as memory of GPUs is not shared with other processes."""


def reset_peak_memory_stats(device=None):
    """Begins to measure a new peak. JAX keeps the old one until it is exceeded; asking for it warns until then."""
    index = index_of(device)
    for name in ("peak_bytes_in_use", "peak_pool_bytes"):
        _reset_peaks[name, index] = _stat(name, index)


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device=None):
    """Accepted, without effect: JAX accumulates from the start of the process."""
    index_of(device)
