"""MKL, which Flambeau does not use."""


def is_available():
    """Whether MKL is used: False."""
    return False
