"""Which GPUs there are. JAX is imported only where one of its plugins for GPUs is installed."""

from __future__ import annotations

import functools
import importlib.util
from dataclasses import dataclass

from .._device import device as Device
from .._device import resolve
from ..engines import engine_on

__all__ = [
    "current_device", "device", "device_count", "device_of", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "init", "is_available", "is_bf16_supported", "is_initialized",
    "set_device", "synchronize",
]

PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin", "jax_rocm60_plugin", "jax_rocm7_plugin")

NO_CUDA = (
    "Torch not compiled with CUDA enabled: Flambeau reaches GPUs through JAX, and {why}. Install it with its plugin "
    "for GPUs (pip install 'jax[cuda12]'), or stay on the CPU: guard what needs a GPU by torch.cuda.is_available()."
)
INVALID_DEVICE = "CUDA error: invalid device ordinal: there is no GPU {index}; there are {count}"

_current = 0


@functools.cache
def jax_devices():
    """JAX's devices for the GPUs."""
    if importlib.util.find_spec("jax") is None or not any(map(importlib.util.find_spec, PLUGINS)):
        return []
    import jax

    try:
        return jax.devices("gpu")
    except RuntimeError:
        return []


def is_available():
    """Whether there is a GPU that tensors can be on."""
    return bool(jax_devices())


def device_count():
    """The number of GPUs."""
    return len(jax_devices())


def init():
    """Raises where there is no GPU; else there is nothing to do."""
    if not is_available():
        why = "it is not installed" if importlib.util.find_spec("jax") is None else "it finds no GPU"
        raise AssertionError(NO_CUDA.format(why=why))


def is_initialized():
    """Whether GPUs can be used now."""
    return is_available()


def index_of(device):
    """The number of a GPU: of an index, a device, a string, or None, the current one."""
    init()
    if isinstance(device, str):
        device = Device(device)
    index = device.index if isinstance(device, Device) else device
    index = _current if index is None else index
    if not 0 <= index < device_count():
        raise RuntimeError(INVALID_DEVICE.format(index=index, count=device_count()))
    return index


def current_device():
    """The number of the GPU that ``device="cuda"`` means in ``torch.cuda``'s functions."""
    return index_of(None)


def set_device(device):
    """Sets the GPU that functions of ``torch.cuda`` speak of when none is named."""
    global _current
    _current = index_of(device)


class device:
    """A context in which another GPU is the current one; with a negative index or None it does nothing."""

    def __init__(self, device):
        self.idx = -1 if device is None or device == -1 else index_of(device)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exc):
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """A context in which the GPU of a tensor is the current one; for tensors elsewhere it does nothing."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else None)


def synchronize(device=None):
    """Waits until the GPU has done what was asked of it."""
    engine_on(resolve(Device("cuda", index_of(device)))).synchronize()


# ---- what they are


@dataclass
class DeviceProperties:
    """What is known of a GPU."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device=None):
    """Name, compute capability, memory and number of multiprocessors of a GPU."""
    found = jax_devices()[index_of(device)]
    major, minor = get_device_capability(device)
    memory = (found.memory_stats() or {}).get("bytes_limit", 0)
    return DeviceProperties(found.device_kind, major, minor, memory, getattr(found, "core_count", 0))


def get_device_name(device=None):
    """The name that the GPU's maker gave it."""
    return jax_devices()[index_of(device)].device_kind


def get_device_capability(device=None):
    """The compute capability, as (major, minor)."""
    major, _, minor = str(getattr(jax_devices()[index_of(device)], "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


def get_arch_list():
    """The architectures that were compiled for: none, as XLA compiles for the GPU it finds."""
    return []


def is_bf16_supported(including_emulation=True):
    """Whether there is a GPU that computes with bfloat16."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def current_torch_device():
    """The current GPU as a ``torch.device``."""
    return resolve(Device("cuda", current_device()))
