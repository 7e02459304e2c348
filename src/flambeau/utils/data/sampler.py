"""Samplers: the order in which samples of a dataset are read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Generic, TypeVar

from ..._dtypes import float64, int64
from ..._generator import Generator
from ..._tensor import Tensor
from ...functions.creation import empty
from ...functions.from_data import as_tensor
from ...functions.random import multinomial, randint, randperm

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)

POSITIVE = "{name} should be a positive integer value, but got {name}={value}"
BOOLEAN = "{name} should be a boolean value, but got {name}={value}"
WEIGHTS = "weights should be a 1d sequence but given weights have shape {shape}"
CHUNK = 32  # indices that RandomSampler draws at once with replacement, as in PyTorch: it affects the random order


def draw_seed(generator=None):
    """Draws a 63-bit seed from a generator (by default the default generator), as PyTorch does to seed others."""
    return empty((), dtype=int64).random_(generator=generator).item()


class Sampler(Generic[T_co]):
    """The base of samplers: subclasses define ``__iter__``, over indices or lists of them, and usually ``__len__``."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} should implement __iter__: the indices in their order")

    # No default __len__: a sampler may not know its length, and len() then is a TypeError.


class SequentialSampler(Sampler[int]):
    """The indices in order.

    Args:
        data_source: the dataset.
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices in random order.

    Args:
        data_source: the dataset.
        replacement: whether to draw with replacement.
        num_samples: the number of indices; by default the length of the dataset. Without replacement, no index is
            repeated before all have been drawn.
        generator: the random generator. Without one, each iteration takes a seed from the default generator.

    Example::

        >>> list(RandomSampler(range(5), generator=Generator().manual_seed(0)))
        [4, 0, 1, 3, 2]
    """

    data_source: Sized
    replacement: bool

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Generator | None = None) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.replacement, bool):
            raise TypeError(BOOLEAN.format(name="replacement", value=replacement))
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(POSITIVE.format(name="num_samples", value=self.num_samples))

    @property
    def num_samples(self) -> int:
        """The number of indices per iteration."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = Generator().manual_seed(draw_seed()) if self.generator is None else self.generator
        yield from self._with_replacement(generator) if self.replacement else self._without_replacement(generator)

    def _with_replacement(self, generator):
        for start in range(0, self.num_samples, CHUNK):
            count = min(CHUNK, self.num_samples - start)
            yield from randint(high=len(self.data_source), size=(count,), dtype=int64, generator=generator).tolist()

    def _without_replacement(self, generator):
        n = len(self.data_source)
        whole, rest = divmod(self.num_samples, n)
        for _ in range(whole):
            yield from randperm(n, generator=generator).tolist()
        # Drawn even if unused, so that later draws from the generator match PyTorch's.
        yield from randperm(n, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    Args:
        indices: the indices.
        generator: the random generator; by default the default generator.
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights.

    Args:
        weights: the weight of each index; they need not sum to 1.
        num_samples: the number of indices to draw.
        replacement: whether to draw with replacement.
        generator: the random generator; by default the default generator.

    Example::

        >>> list(WeightedRandomSampler([0.0, 1.0, 0.0], 4))
        [1, 1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Generator | None = None) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(POSITIVE.format(name="num_samples", value=num_samples))
        if not isinstance(replacement, bool):
            raise ValueError(BOOLEAN.format(name="replacement", value=replacement))
        numbers = as_tensor(weights, dtype=float64)
        if numbers.ndim != 1:
            raise ValueError(WEIGHTS.format(shape=tuple(numbers.shape)))
        self.weights = numbers
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of another sampler into lists of ``batch_size``.

    Args:
        sampler: the sampler, or any iterable.
        batch_size: the length of the lists.
        drop_last: whether to drop a shorter last list.

    Example::

        >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(POSITIVE.format(name="batch_size", value=batch_size))
        if not isinstance(drop_last, bool):
            raise ValueError(BOOLEAN.format(name="drop_last", value=drop_last))
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
