"""Samplers: PyTorch's order for a seed, and its use of random numbers; the same programs on both libraries."""

import pytest

from _programs import Programs, raised
from flambeau.utils import data

programs = Programs("utils_samplers.json")

RANDOM = [  # (length of the dataset, settings)
    (10, {}), (1, {}), (100, {}), (10, {"num_samples": 4}), (10, {"num_samples": 20}), (10, {"num_samples": 25}),
    (10, {"replacement": True}), (100, {"replacement": True}), (7, {"replacement": True, "num_samples": 64}),
    (7, {"replacement": True, "num_samples": 70}),
]


def drawn(t, sampler, generator=None):
    """Two epochs of a sampler, and the number that the generator gives after them."""
    return [list(sampler), list(sampler), len(sampler), t.rand(1, generator=generator).item()]


@programs
def random(t):
    found = []
    for seed, (n, settings) in enumerate(RANDOM):
        t.manual_seed(seed)
        found.append(drawn(t, t.utils.data.RandomSampler(range(n), **settings)))
        generator = t.Generator().manual_seed(seed)
        found.append(drawn(t, t.utils.data.RandomSampler(range(n), **settings, generator=generator), generator))
    return found


@programs
def of_a_subset(t):
    t.manual_seed(1)
    generator = t.Generator().manual_seed(2)
    return [drawn(t, t.utils.data.SubsetRandomSampler([3, 1, 4, 1, 5])),
            drawn(t, t.utils.data.SubsetRandomSampler("abcde", generator), generator)]


@programs
def weighted(t):
    d, found = t.utils.data, []
    weights = [0.5, 3.0, 0.0, 1.0, 7.25]
    for settings in ({}, {"replacement": False}):
        for count in (1, 3, 4):
            generator = t.Generator().manual_seed(count)
            t.manual_seed(count)
            found.append(drawn(t, d.WeightedRandomSampler(weights, count, **settings)))
            found.append(drawn(t, d.WeightedRandomSampler(t.tensor(weights), count, **settings, generator=generator), generator))
    many = d.WeightedRandomSampler(range(1, 50), 200)
    return [found, list(many), many.weights, raised(lambda: list(d.WeightedRandomSampler([1.0, 2.0], 3, False)))]


@programs
def in_batches(t):
    BatchSampler = t.utils.data.BatchSampler
    return [[list(BatchSampler(range(n), size, last)), len(BatchSampler(range(n), size, last))]
            for n in (0, 1, 5, 6) for size in (1, 2, 3, 10) for last in (False, True)]


@programs
def distributed(t):
    found = []
    for n, replicas, settings in [(10, 3, {}), (10, 3, {"drop_last": True}), (10, 3, {"shuffle": False}), (9, 3, {"seed": 4}),
                                  (2, 7, {"shuffle": False}), (2, 7, {"drop_last": True}), (10, 4, {"shuffle": False, "drop_last": True})]:
        for rank in range(replicas):
            sampler = t.utils.data.DistributedSampler(range(n), replicas, rank, **settings)
            first = list(sampler)
            sampler.set_epoch(2)
            found.append([first, list(sampler), len(sampler), sampler.total_size])
    return found


@programs
def refusals(t):
    d = t.utils.data
    calls = [
        lambda: d.RandomSampler([]), lambda: d.RandomSampler("ab", replacement=1), lambda: d.RandomSampler("ab", num_samples=0),
        lambda: d.RandomSampler("ab", num_samples=2.0), lambda: d.RandomSampler(iter("ab")), lambda: list(d.Sampler()),
        lambda: len(d.Sampler()), lambda: d.WeightedRandomSampler([1], 0), lambda: d.WeightedRandomSampler([1], True),
        lambda: d.WeightedRandomSampler([[1]], 1), lambda: d.WeightedRandomSampler([1], 1, 1), lambda: d.BatchSampler("ab", 0, True),
        lambda: d.BatchSampler("ab", True, True), lambda: d.BatchSampler("ab", 1.0, True), lambda: d.BatchSampler("ab", 1, 1),
        lambda: d.DistributedSampler("ab", 2, 2), lambda: d.DistributedSampler("ab", 2, -1), lambda: d.DistributedSampler("ab"),
        lambda: list(d.RandomSampler(range(3), num_samples=True)),
    ]
    return [raised(call) for call in calls]


test_as_recorded, test_as_torch_does = programs.tests()


def test_messages_say_what_was_given():
    with pytest.raises(ValueError, match=r"num_samples should be a positive integer value, but got num_samples=0"):
        data.RandomSampler([])
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        data.DistributedSampler("ab", 2, 2)
    with pytest.raises(ValueError, match=r"init_process_group.*pass num_replicas and rank"):
        data.DistributedSampler("ab")
