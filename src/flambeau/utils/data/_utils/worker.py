"""What runs in a worker process of a DataLoader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_info: WorkerInfo | None = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker knows of itself.

    Attributes:
        id: its number, from 0.
        num_workers: how many workers the loader has.
        seed: of its random numbers: that of the epoch plus ``id``.
        dataset: its own copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


def get_worker_info() -> WorkerInfo | None:
    """What this process is as a worker of a DataLoader; None where it is none."""
    return _info


def shared_out(batch):
    """Where a worker stacks tensors: a tensor in memory that its parent sees; None where that does not apply."""
    return None
