"""Intel's GPUs, which Flambeau does not support."""

from .mps import device_count, empty_cache, is_available, manual_seed

__all__ = [
    "device_count", "empty_cache", "is_available", "is_current_stream_capturing", "manual_seed", "manual_seed_all",
    "synchronize",
]

NO_XPU = "Torch not compiled with XPU enabled: Flambeau has no engine for Intel's GPUs; stay on device='cpu'."

manual_seed_all = manual_seed


def is_current_stream_capturing():
    """Whether a graph is being recorded: never."""
    return False


def synchronize(device=None):
    """Raises, as there is nothing to wait for."""
    raise AssertionError(NO_XPU)
