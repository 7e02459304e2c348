"""Distributed training, which is not supported."""

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]

ONE_PROCESS = (
    "DistributedDataParallel needs a group of processes, which Flambeau has not: it trains in one process. Use the "
    "module itself; scripts that ask torch.distributed.is_initialized() first do so."
)


class DistributedDataParallel(Module):
    """Not supported: the constructor raises."""

    def __init__(self, module, *args, **kwargs):
        raise NotImplementedError(ONE_PROCESS)
