"""Apple's GPUs, which Flambeau does not support."""

NO_MPS = "Cannot execute {name}() without MPS backend. Flambeau has no engine for Apple's GPUs; stay on device='cpu'."


def is_available():
    """Whether the device is available: no."""
    return False


def device_count():
    """The number of devices: 0."""
    return 0


def manual_seed(seed):
    """Accepts a seed; has no effect."""


def empty_cache():
    """Nothing to do."""


def synchronize():
    """Raises, as there is nothing to wait for."""
    raise RuntimeError(NO_MPS.format(name="synchronize"))
