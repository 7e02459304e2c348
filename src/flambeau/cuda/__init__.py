"""GPUs, as far as JAX provides access to them. Without a GPU, queries return and actions raise."""

from .._lazy import lazy_submodules
from . import _devices, _memory, _random, _streams
from ._devices import *
from ._memory import *
from ._random import *
from ._streams import *

__all__ = [*_devices.__all__, *_memory.__all__, *_random.__all__, *_streams.__all__]

__getattr__, __dir__ = lazy_submodules(__name__, ["amp"])
