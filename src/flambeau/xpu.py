"""Intel's GPUs, which Flambeau does not support."""

NO_XPU = "Torch not compiled with XPU enabled: Flambeau has no engine for Intel's GPUs; stay on device='cpu'."


def is_available():
    """Whether the device is available: no."""
    return False


def device_count():
    """The number of devices: 0."""
    return 0


def manual_seed(seed):
    """Accepts a seed; has no effect."""


manual_seed_all = manual_seed


def empty_cache():
    """Nothing to do."""


def is_current_stream_capturing():
    """Whether a graph is being recorded: never."""
    return False


def synchronize(device=None):
    """Raises, as there is nothing to wait for."""
    raise AssertionError(NO_XPU)
