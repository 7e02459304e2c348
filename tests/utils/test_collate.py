"""Collating and converting: the same samples through both libraries."""

import collections
import types

import numpy as np
import pytest

import flambeau
from _programs import Programs, raised
from flambeau.utils import data
from flambeau.utils.data._utils import collate as collating

programs = Programs("utils_collate.json")

Pair = collections.namedtuple("Pair", "x y")


class Words(list):
    """A sequence of a class of its own."""


class Frozen(collections.abc.Mapping):
    """A mapping that cannot be written to."""

    def __init__(self, entries):
        self.entries = dict(entries)

    def __getitem__(self, key):
        return self.entries[key]

    def __iter__(self):
        return iter(self.entries)

    def __len__(self):
        return len(self.entries)


class Fixed(Frozen):
    """A mapping that cannot be made of entries."""

    def __init__(self):
        super().__init__({"a": 1, "b": 2.0})


def samples(t):
    """Lists of samples of every kind that is collated."""
    named = collections.defaultdict(int, a=1, b=np.float32(2))
    return [
        [1, 2, 3], [1.5, 2], [1, 2.5], [True, False], ["a", "b"], [b"a", b"b"], [np.float32(1), np.float32(2)], [np.int16(1), np.int16(2)],
        [np.bool_(True)], [np.zeros(2), np.ones(2)], [np.arange(3, dtype=np.uint8)], [np.array(1.5), np.array(2.5)], [t.ones(2), t.zeros(2)],
        [t.ones(2, 1, dtype=t.float16)], [t.tensor(True)], [t.tensor(1j), t.tensor(2.0 + 0j)], [{"a": 1, "b": "x"}, {"b": "y", "a": 2}],
        [{"a": 1}, {"a": 2, "b": 3}], [(1, 2.0), (3, 4.0)], [[1, "a"], [2, "b"]], [Pair(1, [2.0]), Pair(3, [4.0])], [named, named],
        [Frozen({"a": 1}), Frozen({"a": 2})], [Fixed()], [types.MappingProxyType({"a": 1})], [Words([1, 2]), Words([3, 4])], [range(2), range(2)],
        [collections.OrderedDict(z=1, a=2)], [collections.deque([1, 2])], [[], []], [{}, {}],
        [[{"a": (t.ones(1), "s")}], [{"a": (t.zeros(1), "t")}]],
    ]


WRONG = [
    lambda t: [None], lambda t: [object()], lambda t: [], lambda t: [1 + 2j], lambda t: [{1, 2}], lambda t: [t.float32], lambda t: [np.array("a")],
    lambda t: [np.array([None])], lambda t: [t.ones(2), t.ones(3)], lambda t: [[1, 2], [3]], lambda t: [{"a": 1}, {}], lambda t: [1, "a"],
    lambda t: [t.ones(1), 1], lambda t: [np.str_("a"), 1], lambda t: [np.datetime64("2020-01-01")], lambda t: [(None,)],
]


def image(value):
    """A plain image that also tells the types of containers."""
    if isinstance(value, collections.abc.Mapping):
        return [type(value), {key: image(entry) for key, entry in value.items()}]
    if isinstance(value, collections.abc.Sequence) and not isinstance(value, str | bytes):
        return [type(value), [image(entry) for entry in value]]
    return repr(value) if isinstance(value, bytes | np.ndarray | np.str_) else value


@programs
def collated(t):
    return [image(t.utils.data.default_collate(batch)) for batch in samples(t)]


@programs
def converted(t):
    more = [[np.array("a"), 1, None], [np.array([None], object)], [np.str_("a")]]
    return [image(t.utils.data.default_convert(batch)) for batch in samples(t) + more]


@programs
def wrong(t):
    return [raised(lambda batch=batch: t.utils.data.default_collate(batch(t))) for batch in WRONG]


@programs
def by_a_table(t):
    collate = t.utils.data._utils.collate.collate
    table = t.utils.data._utils.collate.default_collate_fn_map

    def total(batch, *, collate_fn_map=None):
        return sum(batch)

    def count(batch, *, collate_fn_map=None):
        return len(batch)

    return [collate([1, 2], collate_fn_map={int: total}), collate([True, 2], collate_fn_map={int: total}),
            collate([[1, 2], [3, 4]], collate_fn_map={int: total}), collate([None, None], collate_fn_map={object: count}),
            collate([None, None], collate_fn_map={(type(None), set): count}), raised(lambda: collate([1, 2])),
            image(collate([{"a": None, "b": 1}], collate_fn_map={**table, type(None): count})),
            collate([{"a": 1}], collate_fn_map={dict: count}), raised(lambda: collate([1], collate_fn_map={str: total}))]


@programs
def gradients_flow(t):
    rows = [t.ones(2, requires_grad=True), t.zeros(2, requires_grad=True)]
    (t.utils.data.default_collate(rows) * 3).sum().backward()
    return [row.grad for row in rows]


test_as_recorded, test_as_torch_does = programs.tests()


def test_a_batch_does_not_share_memory_with_its_samples():
    rows = [np.zeros(2), np.zeros(2)]
    data.default_collate(rows).fill_(1)
    assert not rows[0].any()


def test_a_converted_array_is_the_array():
    array = np.zeros(2)
    data.default_convert(array).fill_(1)
    assert array.all()


def test_the_message_names_the_type():
    with pytest.raises(TypeError, match=r"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found .*NoneType"):
        data.default_collate([None])
    with pytest.raises(RuntimeError, match=r"each element in list of batch should be of equal size, got sizes \[2, 1\]"):
        data.default_collate([[1, 2], [3]])


def test_the_table_is_where_pytorch_has_it():
    assert collating.default_collate_fn_map[flambeau.Tensor] is collating.collate_tensor_fn
