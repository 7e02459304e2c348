"""OpenMP, which Flambeau does not use."""


def is_available():
    """Whether OpenMP is used: False."""
    return False
