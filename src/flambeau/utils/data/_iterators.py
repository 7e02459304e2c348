"""The iterators of a DataLoader: single-process and multi-process."""

from __future__ import annotations

import itertools
import math
import os
import sys
import time
import warnings
import weakref
from collections import Counter

from ... import accelerator
from ._utils.fetch import fetcher_for
from ._utils.pool import shut_down, start_workers, wait
from ._utils.worker import BATCH, END, ERROR, Job
from .sampler import draw_seed

NO_ACCELERATOR = (
    "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."
)
DEVICE_OF_PINS = (
    "pin_memory_device is deprecated, the current accelerator will be used as the device, ignore "
    "pin_memory_device={device!r}."
)
TOO_LONG = (
    "Length of IterableDataset {dataset} was reported to be {length} (when accessing len(dataloader)), but {count} "
    "samples have been fetched."
)
EACH_WORKER = (
    " For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica "
    "at each worker: each reads all samples, unless it asks get_worker_info() for its share."
)
TIMED_OUT = "DataLoader timed out after {seconds} seconds"


class _BaseDataLoaderIter:
    """An epoch of a loader. It keeps no reference to the loader, which may reference it."""

    _workers: list = []

    def __init__(self, loader):
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._start_epoch(loader)
        self._base_seed = draw_seed(loader.generator)
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(DEVICE_OF_PINS.format(device=loader.pin_memory_device), UserWarning, stacklevel=5)
        if loader.pin_memory and not _has_accelerator():
            warnings.warn(NO_ACCELERATOR, UserWarning, stacklevel=5)

    def _start_epoch(self, loader):
        self._index_sampler = loader._index_sampler
        self._sampler_iter = iter(self._index_sampler)
        self._count = 0  # batches received so far
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

    def _reset(self, loader):
        raise NotImplementedError


def _has_accelerator():
    """Whether a device exists that other libraries would pin memory for; does not import jax to find out."""
    return "jax" in sys.modules and accelerator.is_available()


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Fetches batches in this process."""

    def __init__(self, loader):
        super().__init__(loader)
        self._fetch = fetcher_for(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self):
        return self._fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Fetches batches in worker processes.

    Each batch is a numbered task, assigned to the workers in turn; ``prefetch_factor`` tasks per worker are in flight.
    """

    def __init__(self, loader):
        super().__init__(loader)
        self._prefetch = loader.prefetch_factor * loader.num_workers
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._workers = start_workers(self._jobs(loader), loader.multiprocessing_context)
        self._shut_down = weakref.finalize(self, shut_down, self._workers, os.getpid())
        self._next_number = 0
        self._assign_first()

    def _jobs(self, loader):
        settings = (loader._auto_collation, loader.collate_fn, loader.drop_last, loader.worker_init_fn)
        count = loader.num_workers
        return [Job(i, count, self._base_seed, loader.dataset, *settings) for i in range(count)]

    def _reset(self, loader):
        """Starts another epoch with the same workers."""
        self._start_epoch(loader)
        for worker in self._workers:
            worker.resume()
        self._assign_first()

    # ---- tasks

    def _assign_first(self):
        self._first_number = self._next_number
        self._tasks = {}  # worker by task number, for tasks whose batches were not returned yet, oldest first
        self._answers = {}  # by task number
        self._turns = itertools.cycle(self._workers)
        for _ in range(self._prefetch):
            self._assign_next()

    def _assign_next(self):
        """Assigns the next batch to a worker, if there is one."""
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        worker = self._choose_worker()
        if worker is not None:
            self._tasks[self._next_number] = worker
            worker.assign(self._next_number, index)
            self._next_number += 1

    def _choose_worker(self):
        """The next worker whose dataset is not exhausted; with ``in_order=False``, the least busy one."""
        if not self._in_order:
            busy = Counter(self._tasks.values())
            return min((w for w in self._workers if not w.ended), key=busy.__getitem__, default=None)
        turns = itertools.islice(self._turns, len(self._workers))
        return next((worker for worker in turns if not worker.ended), None)

    # ---- batches

    def _next_data(self):
        while self._tasks:
            number = self._first_answer()
            if number is None:
                continue
            worker = self._tasks.pop(number)
            kind, value = self._answers.pop(number)
            worker.ended |= kind == END
            self._assign_next()
            if kind == ERROR:
                value.reraise()
            if kind == BATCH:
                return value
        if not self._persistent:
            self._shut_down()
        raise StopIteration

    def _first_answer(self):
        """The number of an answered task whose batch is next to return, or None."""
        self._drop_exhausted()
        if not self._tasks:
            return None
        if self._in_order:
            number, worker = next(iter(self._tasks.items()))
            if number not in self._answers:
                self._receive([worker])
            return number if number in self._answers else None
        if not self._answers:
            self._receive(list(set(self._tasks.values())))
        return next(iter(self._answers), None)

    def _drop_exhausted(self):
        """Drops tasks that will not be answered because the dataset of their worker was exhausted before."""
        if any(worker.ended for worker in self._workers):
            left = [number for number, worker in self._tasks.items() if worker.ended and number not in self._answers]
            for number in left:
                del self._tasks[number]

    def _receive(self, workers):
        """Waits for an answer from any of the workers."""
        deadline = time.monotonic() + self._timeout if self._timeout else math.inf
        while (worker := wait(workers, self._workers, deadline)) is None:
            if time.monotonic() >= deadline:
                raise RuntimeError(TIMED_OUT.format(seconds=self._timeout))
            self._check_alive(workers)
        try:
            number, answer = worker.receive()
        except (EOFError, ConnectionError):
            self._report_death(worker)
        if number >= self._first_number:  # lower numbers belong to an abandoned epoch
            self._answers[number] = answer

    def _check_alive(self, workers):
        for worker in workers:
            if not worker.process.is_alive():
                self._report_death(worker)

    def _report_death(self, worker):
        message = worker.describe_death()
        self._tasks.clear()
        self._shut_down()
        raise RuntimeError(message) from None
