"""Datasets and splits: the same programs on both libraries."""

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau.utils import data

programs = Programs("utils_datasets.json")


def count(t, length=3):
    """An IterableDataset of the numbers below `length`."""

    class Count(t.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(length))

        def __len__(self):
            return length

    return Count()


@programs
def tensors(t):
    d = t.utils.data
    pairs = d.TensorDataset(t.arange(4), t.arange(8.0).reshape(4, 2))
    return [len(pairs), pairs[1], pairs[1:3], pairs[[0, 3]], raised(lambda: pairs[4]),
            raised(lambda: d.TensorDataset(t.ones(2), t.ones(3))), raised(lambda: len(d.TensorDataset()))]


@programs
def stacks(t):
    d = t.utils.data
    rows, names = d.StackDataset("abc", [1, 2, 3]), d.StackDataset(x="abc", y=d.Subset(range(9), [5, 6, 7]))
    short = type("Short", (d.Dataset,), {"__getitems__": lambda self, i: [0], "__len__": lambda self: 3})()
    return [len(rows), rows[1], names[2], rows.__getitems__([2, 0]), names.__getitems__([2, 0]),
            raised(lambda: d.StackDataset("abc", "ab")), raised(d.StackDataset), raised(lambda: d.StackDataset("a", x="b")),
            raised(lambda: d.StackDataset(x="abc", y="ab")), raised(lambda: d.StackDataset(short).__getitems__([0, 1]))]


@programs
def joined(t):
    d = t.utils.data
    both = d.ConcatDataset(["ab", "", "cde"])
    plus = d.TensorDataset(t.arange(2)) + d.TensorDataset(t.arange(3))
    return [[both[i] for i in range(-5, 5)], len(both), both.cumulative_sizes, len(plus), plus[4], type(plus),
            warned(lambda: both.cummulative_sizes), raised(lambda: both[5]), raised(lambda: both[-6]),
            raised(lambda: d.ConcatDataset([])), raised(lambda: d.ConcatDataset([count(t)]))]


@programs
def chained(t):
    d = t.utils.data
    chain = count(t) + count(t, 2)
    return [list(chain), len(chain), type(chain), list(chain), raised(lambda: list(d.ChainDataset(["ab"]))),
            raised(lambda: len(d.ChainDataset(["ab"]))), raised(d.IterableDataset), raised(lambda: count(t)[0])]


@programs
def subsets(t):
    d = t.utils.data
    part = d.Subset(d.TensorDataset(t.arange(5)), [4, 2, 0])
    return [len(part), part[1], part[[0, 2]], part.__getitems__([0, 2]), d.Subset("abc", [2, 1]).__getitems__([1]),
            raised(lambda: part[3]), raised(lambda: d.Dataset()[0]), raised(lambda: len(d.Dataset()))]


LENGTHS = [[3, 7], [10], [0, 10], [0.5, 0.5], [0.33, 0.33, 0.34], [0.25] * 4, [1.0], [0.05, 0.95]]
BAD_LENGTHS = [[3, 8], [0.5, 0.6], [0.5, 0.4], [1.5, -0.5], [], [11, -1]]


@programs
def splits(t):
    d, found = t.utils.data, []
    for seed, lengths in enumerate(LENGTHS):
        for generator in (None, t.Generator().manual_seed(seed)):
            t.manual_seed(seed + 50)
            options = {} if generator is None else {"generator": generator}
            found.append([list(part) for part in d.random_split(range(10), lengths, **options)])
    return found


@programs
def bad_splits(t):
    d = t.utils.data
    return [[raised(lambda n=n: d.random_split(range(10), n)) for n in BAD_LENGTHS], raised(lambda: d.random_split(count(t), [3])),
            warned(lambda: d.random_split(range(1), [0.5, 0.5])), warned(lambda: d.random_split(range(1), [1, 0]))]


test_as_recorded, test_as_torch_does = programs.tests()


def test_messages_say_what_was_wrong():
    with pytest.raises(AssertionError, match=r"Size mismatch between tensors.*\[2, 3\]"):
        data.TensorDataset(flambeau.ones(2), flambeau.ones(3))
    with pytest.raises(ValueError, match=r"does not equal the length of the input dataset! The lengths \[3, 8\]"):
        data.random_split(range(10), [3, 8])
    with pytest.raises(NotImplementedError, match=r"should implement __getitem__. Half does not"):
        type("Half", (data.Dataset,), {})()[0]



def test_a_split_without_generator_draws_from_the_default_one():
    flambeau.manual_seed(3)
    first = [list(part) for part in data.random_split(range(20), [10, 10])]
    flambeau.manual_seed(3)
    assert [list(part) for part in data.random_split(range(20), [10, 10])] == first
    assert [list(part) for part in data.random_split(range(20), [10, 10])] != first
