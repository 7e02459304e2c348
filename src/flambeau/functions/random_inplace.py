"""Methods that fill a tensor with random numbers."""

import functools

from .._device import META
from .._modes import modes
from .._tensor import engine_for, wrap
from ..autograd._writes import assign, check_history, check_writable, in_graph, write
from ..engines import NUMPY
from ..ops.random import redrawn
from ..random import source
from ._attach import methods
from ._randomness import check_in_place
from ._types import typed
from .random import Draw, blank_like, draw_like, elements


def _fill(t, name, kernel, generator, *values):
    """Draws into a tensor's memory; a tensor with a graph loses its history."""
    check_in_place(t)
    check_writable(t)
    recorded = modes.grad and in_graph(t)
    if recorded:
        check_history(t)
    if t.device is META:
        return t

    if not recorded and engine_for(t) is NUMPY:
        return write(t, name, _draw_into, kernel, source(generator, t.device), values)
    draw = Draw(kernel, *values)
    fill = functools.partial(draw.fill, generator, device=t.device)
    drawn = draw.on_device(generator, t._a.shape, t._a.dtype, t.device)
    value = draw_like(t, blank_like(t, t._a.dtype), fill) if drawn is None else wrap(drawn, t.device)
    node = f"{name.title().replace('_', '')}Backward0"
    return assign(t, redrawn(t, value, node=node), name, False)


def _draw_into(array, kernel, generator, values):
    getattr(NUMPY, kernel)(generator, array, *values)
    return array


@typed(from_=float, to=float)
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **kwargs):
    """Fills the tensor with uniform samples from [from, to)."""
    low = kwargs.pop("from", from_)
    if kwargs:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(kwargs))}'")
    return _fill(self, "uniform_", "fill_uniform", generator, low, to)


@typed(mean=float, std=float)
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fills the tensor with normal samples."""
    return _fill(self, "normal_", "fill_normal", generator, mean, std)


def random_(self, *args, generator=None, to=None, **kwargs):
    """Fills the tensor with random integers: ``random_()``, ``random_(to)`` or ``random_(from, to)``."""
    low = kwargs.pop("from", None)
    if kwargs:
        raise TypeError(f"random_() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if len(args) == 2:
        low, to = args
    elif args:
        low, to = (low, args[0]) if to is None else (args[0], to)
    if low is None and to is not None:
        low = 0
    return _fill(self, "random_", "fill_random", generator, low, to)


def bernoulli_(self, p=0.5, *, generator=None):
    """Fills the tensor with ones (with probability `p`) and zeros."""
    return _fill(self, "bernoulli_", "fill_bernoulli", generator, elements(p))


@typed(lambd=float)
def exponential_(self, lambd=1, *, generator=None):
    """Fills the tensor with exponential samples of rate `lambd`."""
    return _fill(self, "exponential_", "fill_exponential", generator, lambd)


@typed(p=float)
def geometric_(self, p, *, generator=None):
    """Fills the tensor with geometric samples: the number of trials up to a success of probability `p`."""
    return _fill(self, "geometric_", "fill_geometric", generator, p)


@typed(median=float, sigma=float)
def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fills the tensor with Cauchy samples."""
    return _fill(self, "cauchy_", "fill_cauchy", generator, median, sigma)


@typed(mean=float, std=float)
def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fills the tensor with log-normal samples."""
    return _fill(self, "log_normal_", "fill_log_normal", generator, mean, std)


methods(bernoulli_, cauchy_, exponential_, geometric_, log_normal_, normal_, random_, uniform_)
