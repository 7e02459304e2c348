"""The iterators of a DataLoader: one that fetches in this process, one whose workers do."""

from __future__ import annotations

import warnings

from ._utils.fetch import fetcher_for
from .sampler import draw_seed

NO_ACCELERATOR = (
    "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."
)
TOO_LONG = (
    "Length of IterableDataset {dataset} was reported to be {length} (when accessing len(dataloader)), but {count} "
    "samples have been fetched."
)
EACH_WORKER = (
    " For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica "
    "at each worker: each reads all samples, unless it asks get_worker_info() for its share."
)


class _BaseDataLoaderIter:
    """An epoch of a loader. It does not hold the loader, which may hold it."""

    def __init__(self, loader):
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._start_epoch(loader)
        self._base_seed = draw_seed(loader.generator)
        if loader.pin_memory:
            warnings.warn(NO_ACCELERATOR, UserWarning, stacklevel=5)

    def _start_epoch(self, loader):
        self._index_sampler = loader._index_sampler
        self._sampler_iter = iter(self._index_sampler)
        self._count = 0  # batches that have come
        self._expected = loader._length_of_iterable

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._index_sampler)

    def __next__(self):
        data = self._next_data()
        self._count += 1
        if self._expected is not None and self._count > self._expected:
            self._warn_of_length()
        return data

    def _warn_of_length(self):
        message = TOO_LONG.format(dataset=self._dataset, length=self._expected, count=self._count)
        warnings.warn(message + (EACH_WORKER if self._num_workers else ""), UserWarning, stacklevel=3)

    def _next_data(self):
        raise NotImplementedError


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Fetches in this process."""

    def __init__(self, loader):
        super().__init__(loader)
        self._fetch = fetcher_for(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self):
        return self._fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Has workers fetch."""
