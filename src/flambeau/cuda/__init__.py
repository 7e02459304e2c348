"""GPUs, as far as JAX provides access to them. Without a GPU, queries return and actions raise."""

from .._lazy import lazy_submodules
from . import _devices, memory, random, streams
from ._devices import *
from .memory import *
from .random import *
from .streams import *

__all__ = [*_devices.__all__, *memory.__all__, *random.__all__, *streams.__all__]

_submodule, __dir__ = lazy_submodules(__name__, ["amp", "nvtx"])


def __getattr__(name):
    if name == "default_generators":  # one for each GPU; finding these may import JAX
        return tuple([random.generator_of(index) for index in range(_devices.device_count())])
    return _submodule(name)
