"""Datasets: map-style and iterable."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from ..._generator import Generator
from ..._tensor import Tensor
from ...functions.random import randperm
from ...random import default_generator

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
    "random_split",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

NO_GETITEM = "Subclasses of Dataset should implement __getitem__. {cls} does not."
TENSOR_SIZES = "Size mismatch between tensors: all need the same size of the first dimension, got {sizes}"
STACK_SIZES = "Size mismatch between datasets: all need the same length, got {sizes}"
STACK_EMPTY = "At least one dataset should be passed"
STACK_BOTH = (
    "Supported either tuple- (via args) or dict- (via kwargs) like input/output, but both types are given: pass all "
    "datasets by position, or all by name"
)
NESTED_LENGTH = "Nested dataset's output size mismatch. Expected {expected}, got {found}"
CONCAT_EMPTY = "datasets should not be an empty iterable"
CONCAT_ITERABLE = "ConcatDataset does not support IterableDataset: chain those with ChainDataset"
CHAIN_MAP = "ChainDataset only supports IterableDataset, got {cls}: join those with ConcatDataset"
INDEX_RANGE = "absolute value of index should not exceed dataset length: there is no sample {index} of {length}"
FRACTION = "Fraction at index {index} is not between 0 and 1: {value}"
SPLIT_SUM = (
    "Sum of input lengths does not equal the length of the input dataset! The lengths {lengths} do not sum up to "
    "{total}, nor are they fractions that sum up to 1."
)
EMPTY_SPLIT = "Length of split at index {index} is 0. This might result in an empty dataset."


class Dataset(Generic[T_co]):
    """A map-style dataset: subclasses define ``__getitem__`` and, for most samplers, ``__len__``.

    A subclass may also define ``__getitems__``, which maps a list of indices to the list of their samples; loaders then
    read a whole batch with one call.

    Example::

        >>> class Squares(Dataset):
        ...     def __getitem__(self, index): return index**2
        ...     def __len__(self): return 4
        >>> Squares()[3]
        9
    """

    def __getitem__(self, index) -> T_co:
        raise NotImplementedError(NO_GETITEM.format(cls=type(self).__name__))

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])

    # No default __len__: samplers rely on the TypeError of len() for objects without a length.


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """An iterable dataset: subclasses define ``__iter__``.

    Each worker of a DataLoader iterates over its own copy, so every sample is read once per worker unless ``__iter__``
    uses ``get_worker_info`` to take a share.

    Example::

        >>> class Count(IterableDataset):
        ...     def __iter__(self): return iter(range(3))
        >>> list(Count() + Count())
        [0, 1, 2, 0, 1, 2]
    """

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """A dataset of tuples: the tensors indexed along their first dimension.

    Args:
        tensors: tensors with equal first dimensions.

    Example::

        >>> TensorDataset(torch.arange(3), torch.ones(3, 2))[1]
        (tensor(1), tensor([1., 1.]))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [tensor.size(0) for tensor in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(TENSOR_SIZES.format(sizes=sizes))
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Zips datasets of equal length: samples are tuples, or dicts for named datasets.

    Args:
        args: datasets, for tuple samples.
        kwargs: datasets by name, for dict samples.

    Example::

        >>> StackDataset("abc", [1, 2, 3])[1]
        ('b', 2)
        >>> StackDataset(letter="abc", number=[1, 2, 3])[1]
        {'letter': 'b', 'number': 2}
    """

    datasets: tuple | dict

    def __init__(self, *args: Dataset[T_co], **kwargs: Dataset[T_co]) -> None:
        if args and kwargs:
            raise ValueError(STACK_BOTH)
        if not args and not kwargs:
            raise ValueError(STACK_EMPTY)
        sizes: list[int] = [len(dataset) for dataset in args or kwargs.values()]  # type: ignore[arg-type]
        if len(set(sizes)) > 1:
            raise ValueError(STACK_SIZES.format(sizes=sizes))
        self._length = sizes[0]
        self.datasets = args or kwargs

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple([dataset[index] for dataset in self.datasets])

    def __getitems__(self, indices: list):
        """The samples at a list of indices, read with one call per dataset that supports it."""
        if isinstance(self.datasets, dict):
            columns = [samples_of(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*[samples_of(dataset, indices) for dataset in self.datasets]))

    def __len__(self):
        return self._length


def samples_of(dataset, indices):
    """The samples of a dataset at a list of indices."""
    read = getattr(dataset, "__getitems__", None)
    if not callable(read):
        return [dataset[index] for index in indices]
    samples = read(indices)
    if len(samples) != len(indices):
        raise ValueError(NESTED_LENGTH.format(expected=len(indices), found=len(samples)))
    return samples


class ConcatDataset(Dataset[T_co]):
    """A concatenation of map-style datasets.

    Args:
        datasets: the datasets, which must have a length.

    Example::

        >>> joined = ConcatDataset(["ab", "cde"])
        >>> len(joined), joined[3], joined[-5], joined.cumulative_sizes
        (5, 'd', 'a', [2, 5])
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence) -> list[int]:
        """The cumulative lengths of the datasets."""
        return list(itertools.accumulate(map(len, sequence)))

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError(CONCAT_EMPTY)
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError(CONCAT_ITERABLE)
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError(INDEX_RANGE.format(index=idx, length=len(self)))
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self):
        """Deprecated alias of ``cumulative_sizes``."""
        message = "`cummulative_sizes` attribute is renamed to `cumulative_sizes`"
        warnings.warn(message, FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """A concatenation of iterable datasets.

    Args:
        datasets: the IterableDatasets.
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = datasets

    def _each(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(CHAIN_MAP.format(cls=type(dataset).__name__))
            yield dataset

    def __iter__(self):
        return itertools.chain.from_iterable(self._each())

    def __len__(self):
        return sum(map(len, self._each()))


class Subset(Dataset[T_co]):
    """A subset of a dataset, given by indices.

    Args:
        dataset: the whole dataset.
        indices: the indices of the subset, in order.

    Example::

        >>> Subset("abcdef", [5, 0])[0]
        'f'
    """

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """The samples at a list of indices, read with one call if the dataset supports it."""
        inner = [self.indices[i] for i in indices]
        read: Any = getattr(self.dataset, "__getitems__", None)
        return read(inner) if callable(read) else [self.dataset[i] for i in inner]

    def __len__(self):
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[T]]:
    """Randomly splits a dataset into non-overlapping subsets.

    Args:
        dataset: the dataset.
        lengths: the lengths of the subsets, or fractions that sum to 1. Samples left over from rounding down are
            distributed to the first subsets, one each.
        generator: the random generator.

    Example::

        >>> parts = random_split(range(10), [0.7, 0.3], generator=Generator().manual_seed(42))
        >>> [list(part) for part in parts]
        [[2, 6, 1, 8, 4, 5, 0], [9, 3, 7]]
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(lengths, total)
    if sum(lengths) != total:
        raise ValueError(SPLIT_SUM.format(lengths=list(lengths), total=total))
    order = randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length: end]) for end, length in zip(ends, lengths)]


def _lengths_of_fractions(fractions, total):
    """Converts fractions of a dataset to lengths."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(FRACTION.format(index=i, value=fraction))
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(EMPTY_SPLIT.format(index=i), UserWarning, stacklevel=3)
    return lengths
