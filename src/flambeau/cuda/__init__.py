"""GPUs, as far as JAX gives access to them. Where there is none, questions have answers and actions raise."""

from __future__ import annotations

from .._lazy import lazy_submodules
from ._devices import (
    current_device,
    device,
    device_count,
    device_of,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    set_device,
    synchronize,
)
from ._memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
)
from ._random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from ._streams import (
    CUDAGraph,
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    graph,
    is_current_stream_capturing,
    stream,
)

__all__ = [
    "current_device", "device", "device_count", "device_of", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "init", "is_available", "is_bf16_supported", "is_initialized",
    "set_device", "synchronize",
    "empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_peak_memory_stats",
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
    "CUDAGraph", "Event", "Stream", "StreamContext", "current_stream", "default_stream", "graph",
    "is_current_stream_capturing", "stream",
]

__getattr__, __dir__ = lazy_submodules(__name__, ["amp"])
