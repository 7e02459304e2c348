"""Arguments with one number for all spatial dimensions, or one for each."""

from ...functions._args import as_int

WRONG_COUNT = (
    "{name}(): expected {argument} to be a single integer value or a list of {n} values to match the spatial "
    "dimensions, but got {argument}={value}"
)


def per_dim(value, n, name, argument):
    """A tuple of n ints from an int or from a sequence of one or n of them."""
    if type(value) is int:
        return (value,) * n
    if not isinstance(value, (tuple, list)):
        return (as_int(value, name, argument),) * n
    if len(value) not in (1, n):
        raise RuntimeError(WRONG_COUNT.format(name=name, argument=argument, n=n, value=list(value)))
    found = tuple([v if type(v) is int else as_int(v, name, argument) for v in value])
    return found * n if len(found) == 1 else found
