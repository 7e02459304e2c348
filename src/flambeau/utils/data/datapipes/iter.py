"""Datapipes."""

import copy

from .datapipe import DataChunk, IterDataPipe, functional_datapipe

__all__ = ["Batcher", "Filter", "IterableWrapper", "Mapper"]


class IterableWrapper(IterDataPipe):
    """Wraps an iterable, deep-copied by default."""

    def __init__(self, iterable, deepcopy=True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        yield from copy.deepcopy(self.iterable) if self.deepcopy else self.iterable

    def __len__(self):
        return len(self.iterable)


@functional_datapipe("map")
class Mapper(IterDataPipe):
    """Applies a function to each sample."""

    def __init__(self, datapipe, fn):
        self.datapipe, self.fn = datapipe, fn

    def __iter__(self):
        return map(self.fn, self.datapipe)

    def __len__(self):
        return len(self.datapipe)


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """Keeps the samples for which a function returns True."""

    def __init__(self, datapipe, filter_fn):
        self.datapipe, self.filter_fn = datapipe, filter_fn

    def __iter__(self):
        return filter(self.filter_fn, self.datapipe)


@functional_datapipe("batch")
class Batcher(IterDataPipe):
    """Batches samples; a smaller last batch is kept or dropped."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self):
        batch = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self):
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + bool(rest and not self.drop_last)
