"""Apple GPUs, which Flambeau does not support."""


def is_available():
    """Whether MPS can be used: False."""
    return False


def is_built():
    """Whether MPS support is built in: False."""
    return False


def is_macos13_or_newer(minor=0):
    """Whether MPS is supported and macOS is recent enough: False."""
    return False
