"""Random numbers on GPUs. They come from the CPU's generator: it draws them, or the keys by which a GPU draws them."""

from __future__ import annotations

from ..random import get_rng_state as cpu_state
from ..random import initial_seed as cpu_seed
from ..random import set_rng_state as set_cpu_state
from ._devices import device_count, index_of

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]


def manual_seed(seed):
    """Accepts a seed. Numbers come from the CPU's generator, which ``torch.manual_seed`` seeds."""
    int(seed)


manual_seed_all = manual_seed


def seed():
    """Accepted, without effect: ``torch.seed`` seeds the generator from which the numbers come."""


seed_all = seed


def initial_seed():
    """The seed of the generator from which the numbers come."""
    index_of(None)
    return cpu_seed()


def get_rng_state(device="cuda"):
    """The state of the generator from which the numbers come."""
    index_of(device)
    return cpu_state()


def get_rng_state_all():
    """The states of all GPUs: a list, empty without one."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state, device="cuda"):
    """Sets the state of the generator from which the numbers come."""
    index_of(device)
    set_cpu_state(new_state)


def set_rng_state_all(new_states):
    """Sets the states of all GPUs."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
