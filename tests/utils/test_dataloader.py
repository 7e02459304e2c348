"""DataLoader in one process: order, batches, arguments; the same programs on both libraries."""

import gc
import weakref

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau.utils import data

programs = Programs("utils_loaders.json")

LOADERS = {  # settings of a loader of twenty numbers
    "plain": {},
    "batches": {"batch_size": 3},
    "whole": {"batch_size": 7, "drop_last": True},
    "shuffled": {"batch_size": 3, "shuffle": True},
    "one by one": {"batch_size": None},
    "one by one, shuffled": {"batch_size": None, "shuffle": True},
    "with replacement": {"batch_size": 6, "sampler": lambda t: t.utils.data.RandomSampler(range(20), replacement=True)},
    "few": {"batch_size": 4, "sampler": lambda t: t.utils.data.RandomSampler(range(20), num_samples=9)},
    "a subset": {"batch_size": 2, "sampler": lambda t: t.utils.data.SubsetRandomSampler([2, 3, 5, 7, 11])},
    "weighted": {"batch_size": 5, "sampler": lambda t: t.utils.data.WeightedRandomSampler(range(1, 21), 15)},
    "a list": {"batch_size": 2, "sampler": lambda t: [3, 1, 19]},
    "lists": {"batch_sampler": lambda t: [[3], [1, 19]]},
    "random lists": {"batch_sampler": lambda t: t.utils.data.BatchSampler(t.utils.data.RandomSampler(range(20)), 6, True)},
    "distributed": {"batch_size": 3, "sampler": lambda t: t.utils.data.DistributedSampler(range(20), 3, 1)},
    "a generator": {"batch_size": 3, "shuffle": True, "generator": lambda t: t.Generator().manual_seed(11)},
}
SEEDS = (0, 1, 2**40 + 3)


def settings_for(t, name):
    return {key: value(t) if callable(value) else value for key, value in LOADERS[name].items()}


def orders(t, **workers):
    """Two epochs of every loader for every seed, and what the default generator gives after them."""
    found = {}
    for name in LOADERS:
        for seed in SEEDS:
            t.manual_seed(seed)
            loader = t.utils.data.DataLoader(range(20), **settings_for(t, name), **workers)
            epochs = [[batch if isinstance(batch, int) else batch.tolist() for batch in loader] for _ in range(2)]
            found[f"{name}, {seed}"] = [epochs, len(loader), t.rand(1).item()]
    return found


@programs
def in_order(t):
    return orders(t)


@programs
def first_draws(t):
    """When a loader draws: not when it is made, but when it is iterated over."""
    t.manual_seed(5)
    loader = t.utils.data.DataLoader(range(9), shuffle=True)
    states = [t.initial_seed(), t.rand(1).item()]
    epoch = iter(loader)
    states += [t.rand(1).item(), next(epoch).item(), t.rand(1).item(), next(epoch).item(), t.rand(1).item()]
    return states


def numbers(t, length=None):
    class Numbers(t.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    if length is not None:
        Numbers.__len__ = lambda self: length
    return Numbers()


@programs
def iterable(t):
    d = t.utils.data
    found = []
    for settings in ({}, {"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": None}, {"batch_size": 5}, {"batch_size": 9}):
        found.append([list(d.DataLoader(numbers(t), **settings)), len(d.DataLoader(numbers(t, 7), **settings)),
                      raised(lambda settings=settings: len(d.DataLoader(numbers(t), **settings)))])
    return found


@programs
def lengths_that_lie(t):
    loader = t.utils.data.DataLoader(numbers(t, 3), batch_size=None)
    before = warned(lambda: list(loader))
    return [before, len(loader), warned(lambda: list(loader))]


@programs
def whole_batches_at_once(t):
    class Rows(t.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitems__(self, indices):
            return [[i, len(indices)] for i in indices]

    return list(t.utils.data.DataLoader(Rows(), batch_size=2))


@programs
def attributes(t):
    loader = t.utils.data.DataLoader(range(4), batch_size=2)
    fixed = ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
    free = ["num_workers", "collate_fn", "timeout", "worker_init_fn", "generator"]
    values = [loader.batch_size, loader.drop_last, loader.num_workers, loader.prefetch_factor, loader.timeout, loader.pin_memory,
              loader.multiprocessing_context, loader.in_order, type(loader.sampler), type(loader.batch_sampler)]
    return [values, [raised(lambda name=name: setattr(loader, name, 1)) for name in fixed],
            [raised(lambda name=name: setattr(loader, name, None)) for name in free if name != "num_workers"],
            t.utils.data.DataLoader(range(4), num_workers=1).prefetch_factor, t.utils.data.DataLoader([1], batch_sampler=[[0]]).batch_size]


REFUSED = [
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"prefetch_factor": -1, "num_workers": 1}, {"persistent_workers": True},
    {"shuffle": True, "sampler": [1]}, {"batch_sampler": [[1]], "batch_size": 2}, {"batch_sampler": [[1]], "shuffle": True},
    {"batch_sampler": [[1]], "sampler": [1]}, {"batch_sampler": [[1]], "drop_last": True}, {"batch_size": None, "drop_last": True},
    {"batch_size": 0}, {"batch_size": -1}, {"batch_size": 2.0}, {"batch_size": True}, {"multiprocessing_context": "fork"},
    {"multiprocessing_context": "nope", "num_workers": 1}, {"multiprocessing_context": 3, "num_workers": 1}, {"unknown": 1},
]


@programs
def refusals(t):
    d = t.utils.data
    iterable = [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}, {"shuffle": False}]
    return [[raised(lambda row=row: d.DataLoader("abcd", **row)) for row in REFUSED],
            [raised(lambda row=row: d.DataLoader(numbers(t), **row)) for row in iterable],
            raised(lambda: d.DataLoader([], shuffle=True)), raised(lambda: d.DataLoader(iter("ab"), shuffle=True)), list(d.DataLoader([]))]


@programs
def errors_of_the_user(t):
    """They come as they are where there are no workers."""
    d = t.utils.data
    stops = type("Stops", (d.Dataset,), {"__len__": lambda self: 3, "__getitem__": lambda self, i: next(iter(()))})
    return [raised(lambda: list(d.DataLoader({"a": 1}))), raised(lambda: list(d.DataLoader("ab", sampler=[5]))),
            raised(lambda: list(d.DataLoader("ab", collate_fn=lambda batch: 1 / 0))), raised(lambda: list(d.DataLoader([None]))),
            raised(lambda: list(d.DataLoader("ab", generator=3))), list(d.DataLoader(stops()))]


@programs
def warnings_given(t):
    d = t.utils.data
    return [warned(lambda: d.DataLoader(range(4), num_workers=1000)), warned(lambda: list(d.DataLoader([1], pin_memory=True))),
            warned(lambda: d.DataLoader(range(4), pin_memory=True)), warned(lambda: list(d.DataLoader([1], pin_memory=True, pin_memory_device="cuda"))),
            warned(lambda: list(d.DataLoader([1], pin_memory_device="cuda")))]


test_as_recorded, test_as_torch_does = programs.tests()


MESSAGES = [
    ({"num_workers": -1}, "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing"),
    ({"prefetch_factor": 3}, "prefetch_factor option could only be specified in multiprocessing"),
    ({"prefetch_factor": 0, "num_workers": 1}, r"prefetch_factor option should be .* at least 1, got 0"),
    ({"shuffle": True, "sampler": [1]}, "sampler option is mutually exclusive with shuffle"),
    ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
    ({"multiprocessing_context": "nope", "num_workers": 1}, "should specify a valid start method in .*fork.*, but got multiprocessing_context='nope'"),
]


@pytest.mark.parametrize("settings, message", MESSAGES, ids=[message[:30] for _, message in MESSAGES])
def test_messages(settings, message):
    with pytest.raises(ValueError, match=message):
        data.DataLoader("abc", **settings)


def test_a_fixed_attribute_says_so():
    with pytest.raises(ValueError, match=r"batch_size attribute should not be set after DataLoader is initialized"):
        data.DataLoader("abc").batch_size = 2


def test_an_epoch_that_was_left_is_freed():
    loader = data.DataLoader(range(5))
    epoch = iter(loader)
    next(epoch)
    gone = weakref.ref(epoch)
    del epoch
    gc.collect()
    assert gone() is None


def test_epochs_are_independent():
    flambeau.manual_seed(0)
    loader = data.DataLoader(range(6), shuffle=True)
    one, two = iter(loader), iter(loader)
    assert sorted(batch.item() for batch in one) == sorted(batch.item() for batch in two) == list(range(6))
