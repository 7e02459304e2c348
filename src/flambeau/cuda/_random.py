"""Random numbers on GPUs, which derive from the CPU's generator: it draws the numbers, or the keys for a GPU's."""

from ..random import get_rng_state as cpu_state
from ..random import initial_seed as cpu_seed
from ..random import set_rng_state as set_cpu_state
from ._devices import device_count, index_of

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]


def manual_seed(seed):
    """Accepted, without effect: numbers derive from the CPU's generator, which ``torch.manual_seed`` seeds."""
    int(seed)


manual_seed_all = manual_seed


def seed():
    """Accepted, without effect: numbers derive from the CPU's generator, which ``torch.seed`` seeds."""


seed_all = seed


def initial_seed():
    """The seed of the CPU's generator, which numbers derive from."""
    index_of(None)
    return cpu_seed()


def get_rng_state(device="cuda"):
    """The state of the CPU's generator, which numbers derive from."""
    index_of(device)
    return cpu_state()


def get_rng_state_all():
    """The states of all GPUs as a list, empty without a GPU."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state, device="cuda"):
    """Sets the state of the CPU's generator, which numbers derive from."""
    index_of(device)
    set_cpu_state(new_state)


def set_rng_state_all(new_states):
    """Sets the states of all GPUs."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
