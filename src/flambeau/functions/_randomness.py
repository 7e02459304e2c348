"""Random numbers inside ``vmap``: an error, different numbers for each sample, or the same ones."""

import functools

from .._modes import in_use, modes
from .._tensor import Tensor

ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
SAME_BATCHED = (
    "Vmap does not currently support same randomness with a batched tensor input: its parameters differ from sample to "
    "sample. Use randomness='different'."
)
DIFFERENT_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "Draw out of place, or write to a tensor that is mapped over."
)


def sampling_levels():
    """The enclosing vmaps that random numbers are drawn in, outermost first."""
    if not in_use.levels:
        return ()
    levels = [level for level in modes.levels if hasattr(level, "randomness")]
    if any([level.randomness == "error" for level in levels]):
        raise RuntimeError(ERROR)
    return levels


def draw_samples(draw, shape):
    """Calls ``draw(shape)``, which returns a tensor; inside vmaps, draws once per sample if these are to differ."""
    levels = [level for level in sampling_levels() if level.randomness == "different"]
    t = draw((*[level.size for level in levels], *shape))
    for level in levels:
        t = level.batch(t)
    return t


def draw_by(function, *tensors):
    """Calls ``function(*tensors)``, which samples with tensor parameters, for all samples of a vmap at once."""
    levels = sampling_levels()
    if not levels:
        return function(*tensors)
    level = levels[-1]
    batched = [isinstance(t, Tensor) and level.is_batched(t) for t in tensors]
    if level.randomness == "same":
        if any(batched):
            raise RuntimeError(SAME_BATCHED)
        return function(*tensors)
    with level.suspend():
        parameters = [level.spread(t) if isinstance(t, Tensor) else t for t in tensors]
        return level.batch(draw_by(function, *parameters))


def draws_by_level(function):
    """Decorator for functions that sample with tensor parameters."""

    @functools.wraps(function)
    def draw(*args, **kwargs):
        if in_use.levels and modes.levels and any([isinstance(x, Tensor) for x in args]):
            return draw_by(functools.partial(function, **kwargs), *args)
        return function(*args, **kwargs)

    return draw


def check_in_place(t):
    """Raises if random numbers must not be written to `t`."""
    for level in sampling_levels():
        if level.randomness == "different" and not level.is_batched(t):
            raise RuntimeError(DIFFERENT_UNBATCHED)
