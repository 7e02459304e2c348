"""opt_einsum, which Flambeau does not use: einsum contracts from left to right."""

enabled = False
strategy = None


def is_available():
    """Whether it is used: no."""
    return False


def get_opt_einsum():
    """The package: None."""
    return None
