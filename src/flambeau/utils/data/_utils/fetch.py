"""Fetchers, which read the samples of a batch from a dataset and collate them."""

import itertools

from ..dataset import IterableDataset


def fetcher_for(dataset, auto_collation, collate_fn, drop_last):
    """The function that fetches a batch for given indices; it raises StopIteration when a dataset is exhausted."""
    if isinstance(dataset, IterableDataset):
        return _IterableDatasetFetcher(dataset, auto_collation, collate_fn, drop_last).fetch
    return _MapDatasetFetcher(dataset, auto_collation, collate_fn).fetch


class _MapDatasetFetcher:
    """Fetches samples by index."""

    def __init__(self, dataset, auto_collation, collate_fn):
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index):
        """The batch for a list of indices; without automatic collation, the sample at one index."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        read = getattr(self.dataset, "__getitems__", None)
        return self.collate_fn(read(index) if read else [self.dataset[i] for i in index])


class _IterableDatasetFetcher:
    """Fetches the next samples; only the number of indices matters."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.samples = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index):
        """The batch of the next samples, as many as there are indices."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = list(itertools.islice(self.samples, len(index)))
        self.ended = len(batch) < len(index)
        if not batch or (self.ended and self.drop_last):
            raise StopIteration
        return self.collate_fn(batch)
