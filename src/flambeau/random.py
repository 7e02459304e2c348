"""The default random-number generator: seeding, saving and restoring its state."""

import contextlib
import os

from ._device import CPU
from ._generator import Generator

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

default_generator = Generator()
if hasattr(os, "register_at_fork"):  # a fork waits for who draws, or the child would find the lock taken for ever
    _lock = default_generator._lock
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def manual_seed(seed):
    """Seeds the default generator, and returns it."""
    return default_generator.manual_seed(int(seed))


def seed():
    """Seeds the default generator from the operating system, and returns the seed."""
    return default_generator.seed()


def initial_seed():
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default generator, as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Restores the default generator to a state from ``get_rng_state``."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """A context that restores the default generator's state on exit."""
    if not enabled:
        yield
        return
    before = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(before)


def source(generator, device=CPU):
    """The generator to draw from for numbers on a device: the device's, or the CPU's."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be Generator, not {type(generator).__name__}")
    if generator.device.type not in ("cpu", device.type):
        raise RuntimeError(f"Expected a '{device.type}' device type for generator but found '{generator.device}'")
    return generator
