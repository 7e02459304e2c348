"""Data loading: datasets, samplers and DataLoader."""

from ..._lazy import lazy_submodules as _lazy_submodules
from . import dataloader, dataset, sampler
from .dataloader import *
from .dataset import *
from .distributed import DistributedSampler
from .sampler import *

__all__ = ["DistributedSampler", *dataloader.__all__, *dataset.__all__, *sampler.__all__]

_PIPES = ["IterDataPipe", "functional_datapipe"]
__getattr__, __dir__ = _lazy_submodules(__name__, ["datapipes"], dict.fromkeys(_PIPES, "datapipes"))
