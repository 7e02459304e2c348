"""Apple's GPUs, which Flambeau does not use."""


def is_available():
    """Whether tensors can be there: no."""
    return False


def is_built():
    """Whether tensors could be there: no."""
    return False


def is_macos13_or_newer(minor=0):
    """Whether this is such a system and its GPU is used: no."""
    return False
