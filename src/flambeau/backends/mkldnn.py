"""oneDNN, which Flambeau does not use."""

enabled = False
deterministic = False
allow_tf32 = True


def is_available():
    """Whether it is used: no."""
    return False
