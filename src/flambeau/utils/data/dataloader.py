"""DataLoader: batches of a dataset, fetched in this process or by workers."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from ..._generator import Generator
from ._iterators import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
PREFETCH = 2  # batches that a worker prefetches

WORKERS = "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing. Got {value}."
TIMEOUT = "timeout option should be non-negative, got {value}"
PREFETCH_ALONE = (
    "prefetch_factor option could only be specified in multiprocessing: let num_workers > 0 to enable it, otherwise "
    "set prefetch_factor to None"
)
PREFETCH_NEGATIVE = "prefetch_factor option should be non-negative and at least 1, got {value}"
PERSISTENT = "persistent_workers option needs num_workers > 0"
ITERABLE = (
    "DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}: such a dataset has "
    "an order of its own"
)
SHUFFLE = "sampler option is mutually exclusive with shuffle"
BATCH_SAMPLER = "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
NO_BATCHES = "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
FIXED_NOW = "{name} attribute should not be set after {cls} is initialized: make another loader"
CONTEXT_ALONE = (
    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
    "num_workers={workers}"
)
START_METHOD = (
    "multiprocessing_context option should specify a valid start method in {valid!r}, but got "
    "multiprocessing_context={value!r}"
)
CONTEXT_TYPE = (
    "multiprocessing_context option should be a valid context object or a string specifying the start method, but got "
    "multiprocessing_context={value!r}"
)
TOO_MANY_WORKERS = (
    "This DataLoader will create {workers} worker processes in total. Our suggested max number of worker in current "
    "system is {cpus}, which is smaller than what this DataLoader is going to create: more processes than CPUs make "
    "it slow, or freeze it."
)


class DataLoader(Generic[T_co]):
    """Loads batches of a dataset: chosen by a sampler, fetched and collated, in this process or in workers.

    The order matches PyTorch for the same seed. Each iteration takes a seed from ``generator``; worker ``i`` seeds
    ``torch``, ``random`` and ``numpy.random`` with that seed plus ``i``.

    Args:
        dataset: the dataset; an IterableDataset determines its own order.
        batch_size: samples per batch. None disables batching: samples are only converted to tensors.
        shuffle: whether to reshuffle the samples every epoch.
        sampler: yields the indices of the samples.
        batch_sampler: yields lists of indices; replaces batch_size, shuffle, sampler and drop_last.
        num_workers: the number of worker processes; 0 loads in this process.
        collate_fn: makes a batch of a list of samples.
        pin_memory: accepted; memory is never pinned.
        drop_last: whether to drop a smaller last batch.
        timeout: seconds to wait for a batch from the workers; 0 waits as long as they live.
        worker_init_fn: called in each worker with its index, after seeding.
        multiprocessing_context: how workers start: "fork", "spawn", "forkserver", or a multiprocessing context.
        generator: the source of seeds and order; by default the default generator.
        prefetch_factor: batches that each worker prefetches; 2 by default.
        persistent_workers: whether to keep the workers for the next epoch.
        pin_memory_device: accepted.
        in_order: whether batches come in the sampler's order, or as soon as they are ready.

    Example::

        >>> data = TensorDataset(torch.arange(5.0))
        >>> [batch for batch, in DataLoader(data, batch_size=2)]
        [tensor([0., 1.]), tensor([2., 3.]), tensor([4.])]
    """

    dataset: Dataset[T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler | Iterable
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _BaseDataLoaderIter | None
    __initialized = False

    def __init__(
        self, dataset: Dataset[T_co], batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None, batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0, collate_fn: Callable[[list], Any] | None = None, pin_memory: bool = False,
        drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context=None, generator: Generator | None = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = PREFETCH if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        self._iterable = isinstance(dataset, IterableDataset)
        _check_order(self._iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle), generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._length_of_iterable: int | None = None  # what len() returned, compared with the samples that come
        self._iterator = None
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle, generator):
        if self._iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=generator)
        return SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self):
        """The multiprocessing context of the workers; None for the default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context):
        if multiprocessing_context is not None:
            if self.num_workers <= 0:
                raise ValueError(CONTEXT_ALONE.format(workers=self.num_workers))
            multiprocessing_context = _context_of(multiprocessing_context)
        self.__multiprocessing_context = multiprocessing_context

    def __setattr__(self, attr, val):
        if self.__initialized and attr in FIXED:
            raise ValueError(FIXED_NOW.format(name=attr, cls=type(self).__name__))
        super().__setattr__(attr, val)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None or not self._iterator._workers:  # the workers are gone after one died
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        """The sampler of fetches: of lists of indices if the loader batches."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        length = self._length_of_iterable = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self):
        """Warns if there are more workers than CPUs."""
        cpus = _usable_cpus()
        if cpus is not None and self.num_workers > cpus:
            warnings.warn(TOO_MANY_WORKERS.format(workers=self.num_workers, cpus=cpus), UserWarning, stacklevel=3)


class _InfiniteConstantSampler(Sampler):
    """The sampler of an IterableDataset, which has no indices."""

    def __iter__(self):
        while True:
            yield None


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(WORKERS.format(value=num_workers))
    if timeout < 0:
        raise ValueError(TIMEOUT.format(value=timeout))
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(PREFETCH_ALONE)
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(PREFETCH_NEGATIVE.format(value=prefetch_factor))
    if persistent_workers and num_workers == 0:
        raise ValueError(PERSISTENT)


def _check_order(iterable, batch_size, shuffle, sampler, batch_sampler, drop_last):
    """Raises for conflicting arguments about the order of samples."""
    if iterable:
        if shuffle not in (False, None):
            raise ValueError(ITERABLE.format(name="shuffle", value=shuffle))
        for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                raise ValueError(ITERABLE.format(name=name, value=value))
    if sampler is not None and shuffle:
        raise ValueError(SHUFFLE)
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError(BATCH_SAMPLER)
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError(NO_BATCHES)


def _context_of(value):
    """The multiprocessing context for a start method, or the context itself."""
    if isinstance(value, str):
        valid = multiprocessing.get_all_start_methods()
        if value not in valid:
            raise ValueError(START_METHOD.format(valid=valid, value=value))
        return multiprocessing.get_context(value)
    if not isinstance(value, multiprocessing.context.BaseContext):
        raise TypeError(CONTEXT_TYPE.format(value=value))
    return value


def _usable_cpus():
    """The number of CPUs this process may use, or None if unknown."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
