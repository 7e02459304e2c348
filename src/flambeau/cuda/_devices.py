"""Available GPUs. JAX is only imported if one of its GPU plugins is installed."""

from __future__ import annotations

import functools
import importlib.util
from dataclasses import dataclass

from .._device import current_index, resolve, set_current_index
from .._device import device as Device
from ..engines import engine_on

__all__ = [
    "can_device_access_peer", "current_device", "device", "device_count", "device_of", "get_arch_list",
    "get_device_capability", "get_device_name", "get_device_properties", "get_gencode_flags", "init", "is_available",
    "is_bf16_supported", "is_initialized", "is_tf32_supported", "set_device", "synchronize",
]

PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin", "jax_rocm60_plugin", "jax_rocm7_plugin")

NO_CUDA = (
    "Torch not compiled with CUDA enabled: Flambeau reaches GPUs through JAX, and {why}. Install it with its plugin "
    "for GPUs (pip install 'jax[cuda12]'), or stay on the CPU: guard what needs a GPU by torch.cuda.is_available()."
)
INVALID_DEVICE = "CUDA error: invalid device ordinal: there is no GPU {index}; there are {count}"

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
    """Whether a GPU is available."""
    return bool(jax_devices())


def device_count():
    """The number of GPUs."""
    return len(jax_devices())


def init():
    """Raises if there is no GPU; otherwise does nothing."""
    if not is_available():
        why = "it is not installed" if importlib.util.find_spec("jax") is None else "it finds no GPU"
        raise AssertionError(NO_CUDA.format(why=why))


def is_initialized():
    """Whether GPUs can be used."""
    return is_available()


def index_of(device):
    """The index of a GPU given as an index, a device, a string, or None for the current one."""
    init()
    if isinstance(device, str):
        device = Device(device)
    index = device.index if isinstance(device, Device) else device
    index = current_index("cuda") if index is None else index
    if not 0 <= index < device_count():
        raise RuntimeError(INVALID_DEVICE.format(index=index, count=device_count()))
    return index


def current_device():
    """The index of the current GPU; see ``set_device``."""
    return index_of(None)


def set_device(device):
    """Sets the current GPU, which functions of ``torch.cuda``, and the device "cuda" without an index, refer to."""
    set_current_index("cuda", index_of(device))


class device:
    """A context manager that changes the current GPU; a negative index or None has no effect."""

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
    """A context manager that makes the GPU of a tensor the current one; tensors elsewhere have no effect."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else None)


def synchronize(device=None):
    """Waits until the GPU has finished all work."""
    engine_on(resolve(Device("cuda", index_of(device)))).synchronize()


# ---- what they are


@dataclass
class DeviceProperties:
    """Properties of a GPU."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device=None):
    """The name, compute capability, memory and number of multiprocessors of a GPU."""
    found = jax_devices()[index_of(device)]
    major, minor = get_device_capability(device)
    memory = (found.memory_stats() or {}).get("bytes_limit", 0)
    return DeviceProperties(found.device_kind, major, minor, memory, getattr(found, "core_count", 0))


def get_device_name(device=None):
    """The name of a GPU."""
    return jax_devices()[index_of(device)].device_kind


def get_device_capability(device=None):
    """The compute capability, as (major, minor)."""
    major, _, minor = str(getattr(jax_devices()[index_of(device)], "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


def can_device_access_peer(device, peer_device):
    """Whether a GPU could read the memory of another one: False, as JAX moves arrays between them."""
    index_of(device), index_of(peer_device)
    return False


def get_gencode_flags():
    """Flags of compiled architectures: none, as XLA compiles for the GPU it finds."""
    return ""


def get_arch_list():
    """The compiled architectures: an empty list, as XLA compiles for the GPU it finds."""
    return []


def is_tf32_supported():
    """Whether there is a GPU that supports TensorFloat-32."""
    return is_available() and get_device_capability()[0] >= 8


def is_bf16_supported(including_emulation=True):
    """Whether there is a GPU that supports bfloat16."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)
