"""opt_einsum, which Flambeau does not use: einsum contracts from left to right."""

enabled = False
strategy = None


def is_available():
    """Whether opt_einsum is used: False."""
    return False


def get_opt_einsum():
    """The package: None."""
    return None
