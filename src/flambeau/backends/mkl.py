"""MKL, which Flambeau does not use."""


def is_available():
    """Whether it is used: no."""
    return False
