"""Apple's GPUs: there are none that Flambeau could use."""

NO_MPS = "Cannot execute {name}() without MPS backend. Flambeau has no engine for Apple's GPUs; stay on device='cpu'."


def is_available():
    """Whether tensors can be there: no."""
    return False


def device_count():
    """How many there are: 0."""
    return 0


def manual_seed(seed):
    """Accepts a seed, without effect."""


def empty_cache():
    """Nothing to do."""


def synchronize():
    """Raises, as there is nothing to wait for."""
    raise RuntimeError(NO_MPS.format(name="synchronize"))
