"""Random numbers on GPUs. Each GPU has a default generator; ``torch.manual_seed`` seeds them and the CPU's."""

from .._device import device as Device
from .._device import resolve
from ..random import default_of, seed_devices
from ._devices import device_count, index_of, is_available

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]


def generator_of(device=None):
    """The default generator of a GPU."""
    return default_of(resolve(Device("cuda", index_of(device))))


def manual_seed(seed):
    """Seeds the current GPU's default generator; without a GPU it has no effect."""
    seed = int(seed)
    if is_available():
        generator_of().manual_seed(seed)


def manual_seed_all(seed):
    """Seeds the default generators of all GPUs."""
    seed_devices(int(seed))


def seed():
    """Seeds the current GPU's default generator from the operating system."""
    if is_available():
        generator_of().seed()


def seed_all():
    """Seeds the default generators of all GPUs from the operating system, with the same seed."""
    if is_available():
        seed_devices(generator_of().seed())


def initial_seed():
    """The seed of the current GPU's default generator."""
    return generator_of().initial_seed()


def get_rng_state(device="cuda"):
    """The state of a GPU's default generator, as a tensor of bytes."""
    return generator_of(device).get_state()


def get_rng_state_all():
    """The states of all GPUs as a list, empty without a GPU."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state, device="cuda"):
    """Restores a GPU's default generator to a state from ``get_rng_state``."""
    generator_of(device).set_state(new_state)


def set_rng_state_all(new_states):
    """Restores the default generators of all GPUs."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
