"""The state of compiled programs: arrays of tensors on a device, as programs take them and give them back."""

import jax.numpy as jnp
import numpy as np

from ..._pick import places_of_types
from ..._slots import held_elsewhere
from .._views import ViewArray, value_of
from . import engine
from ._conditions import Run, is_verified, users_line, verify, verify_early
from ._lowering import lowering
from ._stand_ins import compile_program
from .lazy import Graph, LazyArray, aval_of
from .memory import jax_device

engine.immediate(jax_device)
engine.immediate(lowering)
engine.immediate(compile_program)
engine.immediate(users_line)
engine.immediate(is_verified)
engine.immediate(verify)
engine.immediate(verify_early)


@engine.immediate
def concrete(array):
    """The array of jax behind what a tensor on a device holds; what was recorded runs now."""
    if type(array) is ViewArray:
        array = array.value
    return array.value if type(array) is LazyArray else array


@engine.immediate
def claim(arrays, indices, tensors):
    """Makes a list of what tensors on a device hold one of arrays of jax; those at `indices` have no other owners.

    A program may write to the memory of these. Where somebody else than their tensor holds them, they are copies:
    clones share their arrays until one of them is written to.
    """
    lazy = places_of_types(arrays, (LazyArray, ViewArray))
    for i in lazy:
        arrays[i] = concrete(arrays[i])
    shared = held_elsewhere(arrays, indices, ALONE)
    if lazy:
        donated = [i for i in {*indices.tolist()}.intersection(lazy) if type(value_of(tensors[i]._a)) is LazyArray]
        behind = [value_of(tensors[i]._a) for i in donated]
        shared += [donated[nr] for nr in held_elsewhere(behind, np.arange(len(behind)), ALONE)]
    for i in {*shared}:
        arrays[i] = jnp.copy(arrays[i])


ALONE = 3  # references to an array that one tensor holds: in itself, in its memory, and in the list of a program


@engine.immediate
def defer_checks(arrays, checks, conditions, device):
    """Has the checks of a program that is still running, and those before it, raised when somebody reads elements.

    Args:
        arrays: its results.
        checks: whether each condition holds, as one array, and the values that are wrong if they do not.
        conditions: (error, where it was recorded) of each.
        device: on which it runs.

    Returns:
        The results, as arrays that know of an error.
    """
    graph = Graph.on(jax_device(device))
    lazy = []
    for array in arrays:
        x = LazyArray(aval_of(array), graph, None)
        x._value = array
        lazy.append(x)
    Run.note(lazy, checks[:1], checks[1:], conditions)
    return lazy
