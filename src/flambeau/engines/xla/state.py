"""The state of compiled programs: arrays of tensors on a device, as programs take and return them."""

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
    """The jax array of a tensor on a device; runs recorded calls if necessary."""
    if type(array) is ViewArray:
        array = array.value
    return array.value if type(array) is LazyArray else array


@engine.immediate
def claim(arrays, indices, tensors):
    """Converts the arrays of tensors on a device, in a list, to jax arrays; those at `indices` will have no other
    owners.

    A program may reuse the memory of the latter. They are copied if anything but their tensor refers to them: clones
    share arrays until one is written to.
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


ALONE = 3  # of an array with one tensor: in the tensor, in its memory, and in the list


@engine.immediate
def defer_checks(arrays, checks, conditions, device):
    """Makes reading elements raise the errors of the checks of a running program, and of those before it.

    Args:
        arrays: its results.
        checks: whether each condition holds, as one array, followed by the values that violate them.
        conditions: (error, where it was recorded) of each.
        device: the device it runs on.

    Returns:
        the results as lazy arrays.
    """
    graph = Graph.on(jax_device(device))
    lazy = []
    for array in arrays:
        x = LazyArray(aval_of(array), graph, None)
        x._value = array
        lazy.append(x)
    Run.note(lazy, checks[:1], checks[1:], conditions)
    return lazy
