"""The default random-number generators, of the CPU and of accelerators: seeding, saving and restoring their states."""

import contextlib
import os

from ._device import CPU, resolve
from ._device import device as Device
from ._generator import DEFAULT_SEED, Generator

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

default_generator = Generator()
if hasattr(os, "register_at_fork"):  # a fork waits for who draws, or the child would find the lock taken for ever
    _lock = default_generator._lock
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


_of_devices: dict[Device, Generator] = {}  # the default generators of accelerators, by device
_seed_of_devices = DEFAULT_SEED  # of those that do not exist yet


def default_of(device):
    """The default generator for numbers on a device. Each accelerator has its own."""
    if device.type in ("cpu", "meta"):
        return default_generator
    found = _of_devices.get(device)
    return found or _of_devices.setdefault(device, Generator.with_seed(device, _seed_of_devices))


def seed_devices(seed):
    """Seeds the default generators of all accelerators."""
    global _seed_of_devices
    _seed_of_devices = seed
    for generator in list(_of_devices.values()):
        generator.manual_seed(seed)


def manual_seed(seed):
    """Seeds the default generators of all devices, and returns that of the CPU."""
    default_generator.manual_seed(int(seed))
    seed_devices(default_generator.initial_seed())
    return default_generator


def seed():
    """Seeds the default generators of all devices from the operating system, and returns the seed."""
    found = default_generator.seed()
    seed_devices(found)
    return found


def initial_seed():
    """The seed of the CPU's default generator."""
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the CPU's default generator, as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Restores the CPU's default generator to a state from ``get_rng_state``."""
    default_generator.set_state(new_state)


def get_all_states():
    """The states of all default generators."""
    return default_generator.get_state(), {d: g.get_state() for d, g in _of_devices.items()}, _seed_of_devices


def set_all_states(states, devices=None):
    """Restores default generators from ``get_all_states``: the CPU's, and those of all accelerators or of `devices`."""
    of_cpu, of_devices, seed = states
    default_generator.set_state(of_cpu)
    if devices is None:
        global _seed_of_devices
        _seed_of_devices = seed
        devices = list(_of_devices)
    for device in devices:
        if device in of_devices:
            default_of(device).set_state(of_devices[device])
        elif device in _of_devices:
            _of_devices[device].manual_seed(seed)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """A context that restores the states of default generators on exit.

    Args:
        devices: the accelerators whose states are restored besides the CPU's, by default all.
        device_type: the kind of those given by a number.
    """
    if not enabled:
        yield
        return
    if devices is not None:
        devices = [resolve(Device(device_type, d) if type(d) is int else d) for d in devices]
    before = get_all_states()
    try:
        yield
    finally:
        set_all_states(before, devices)


def source(generator, device=CPU):
    """The generator to draw from for numbers on a device: a given one, of the device or the CPU, or the default."""
    if generator is None:
        return default_of(device)
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be Generator, not {type(generator).__name__}")
    if generator.device.type not in ("cpu", device.type):
        raise RuntimeError(f"Expected a '{device.type}' device type for generator but found '{generator.device}'")
    return generator
