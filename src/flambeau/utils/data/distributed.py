"""The sampler of distributed training, in which each process reads its share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

from ... import distributed
from ..._generator import Generator
from ...functions.random import randperm
from .dataset import Dataset
from .sampler import Sampler

__all__ = ["DistributedSampler"]

T_co = TypeVar("T_co", covariant=True)

NO_GROUP = (
    "Default process group has not been initialized, please make sure to call init_process_group: there is none here, "
    "so pass num_replicas and rank to DistributedSampler"
)
RANK = "Invalid rank {rank}, rank should be in the interval [0, {last}]"


class DistributedSampler(Sampler[T_co]):
    """One process's share of a dataset: every ``num_replicas``-th index, starting at ``rank``.

    All shares have equal length: without ``drop_last``, some indices are repeated. Call ``set_epoch`` before each epoch
    to get a different order.

    Args:
        dataset: the dataset, of the same length in all processes.
        num_replicas: the number of processes; by default that of the process group.
        rank: the rank of this process; by default that in the process group.
        shuffle: whether the order is random, the same in all processes.
        seed: the random seed of the order.
        drop_last: whether to drop trailing indices that do not divide evenly.

    Example::

        >>> [list(DistributedSampler(range(5), num_replicas=2, rank=rank, shuffle=False)) for rank in (0, 1)]
        [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(self, dataset: Dataset, num_replicas: int | None = None, rank: int | None = None,
                 shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None:
        if num_replicas is None or rank is None:
            if not distributed.is_initialized():
                raise ValueError(NO_GROUP)
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(RANK.format(rank=rank, last=num_replicas - 1))
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        rounds = len(dataset) / num_replicas  # type: ignore[arg-type]
        self.num_samples = math.floor(rounds) if drop_last else math.ceil(rounds)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[T_co]:
        order = self._order()
        if len(order) < self.total_size:
            order = (order * math.ceil(self.total_size / len(order)))[: self.total_size]
        return iter(order[self.rank: self.total_size: self.num_replicas])

    def _order(self):
        """The indices of the whole dataset, in the order of this epoch."""
        n = len(self.dataset)
        if not self.shuffle:
            return list(range(n))
        return randperm(n, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, which determines the random order."""
        self.epoch = epoch
