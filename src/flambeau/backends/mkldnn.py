"""oneDNN, which Flambeau does not use."""

enabled = False
deterministic = False
allow_tf32 = True


def is_available():
    """Whether oneDNN is used: False."""
    return False
