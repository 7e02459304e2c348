"""The XLA twins of the kernels in ``engines/numpy/optim.py``: a step over a list of parameters is one program."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..._modes import NO_TRACER, modes
from .._updates import FORMULAS
from . import engine
from .lazy import record
from .memory import operand


@engine.kernel
def number(array):
    return jnp.asarray(operand(array), jnp.float64).reshape(())


def update_all(name, written, grads, numbers, flags):
    """The new arrays of all parameters, and of each kind of state; one row of numbers may serve all parameters."""
    rows = [numbers[0]] * len(grads) if len(numbers) == 1 else numbers
    new = [update(name, own, g, row, flags) for *own, g, row in zip(*written, grads, rows, strict=True)]
    return [list(arrays) for arrays in zip(*new, strict=True)]


@functools.partial(jax.jit, static_argnums=(0, 4))  # traced once for all parameters of one shape
def update(name, own, g, numbers, flags):
    wide = jnp.promote_types(own[0].dtype, jnp.float32)  # half precision is rounded once, at the end
    numbers = [jnp.asarray(n).astype(wide) for n in numbers]
    new = FORMULAS[name](engine, g.astype(wide), numbers, flags, *[a.astype(wide) for a in own])
    return [value.astype(a.dtype) for value, a in zip(new, own, strict=True)]


def step(name, written, grads, numbers, flags):
    """The numbers of all parameters are one input of the program; with tensors among them, each is an input."""
    rows = list({id(row): row for row in numbers}.values())
    if modes.tracer is NO_TRACER and all([isinstance(n, (float, int)) for row in rows for n in row]):
        numbers = np.array(rows if len(rows) == 1 else numbers, np.float64)
    else:
        numbers = [[operand(n) for n in row] for row in numbers]
    return record(update_all, (name, written, grads, numbers, flags), {})


@engine.kernel
def scale_all(lists, factor):
    """Lists of arrays, multiplied by a factor."""
    return [[(array * factor).astype(array.dtype) for array in arrays] for arrays in lists]


for _name in FORMULAS:
    setattr(engine, _name, functools.partial(step, _name))
