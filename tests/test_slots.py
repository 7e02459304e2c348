"""Slots of many objects, read, set and compared at once: by the extension and by its twin in Python."""

import contextlib
import importlib.util
import sys
import weakref

import numpy as np
import pytest

from _collecting import collecting
from flambeau import _slots


class Point:
    __slots__ = ("__weakref__", "x", "y")


class Place(Point):
    __slots__ = ("name",)


def twins():
    """The module without the extension."""
    spec = importlib.util.find_spec("flambeau._slots")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLAMBEAU_NATIVE", "0")
        spec.loader.exec_module(module)
    return module


class Held:
    __slots__ = ("array", "storage")


class Stored:
    __slots__ = ("array", "memory", "version", "writer")

    def __init__(self, memory=None):
        self.array, self.memory, self.version, self.writer = None, memory, 7, None


WRITTEN = Held.array, Held.storage, Stored.memory, Stored.array, Stored.writer, Stored.version


@pytest.fixture(params=[twins(), _slots], ids=["python", "as installed"])
def slots(request):
    return request.param


def test_slots_are_set_and_read(slots):
    points = [Point(), Place(), Point()]
    slots.set_slot(Point.x, points, (1, 2, 3))
    assert slots.read_slot(Point.x, points) == [1, 2, 3] == [p.x for p in points]
    slots.set_slot(Point.x, points, [None] * 3)
    assert slots.read_slot(Point.x, tuple(points)) == [None] * 3
    assert slots.read_slot(Place.name, []) == []


def test_what_was_in_a_slot_is_let_go(slots):
    outer, inner = Point(), Point()
    outer.x, seen = inner, weakref.ref(inner)
    del inner
    slots.set_slot(Point.x, [outer], [None])
    assert seen() is None


def test_objects_may_change_the_list_while_it_is_read(slots):
    """What is let go runs code, here one that empties the list of objects."""
    points = [Point() for _ in range(4)]
    for p in points:
        p.x = Point()
    finalizer = weakref.finalize(points[0].x, points.clear)
    slots.set_slot(Point.x, points, [None] * 4)
    assert not finalizer.alive
    assert points == []


class Loose(Point):
    pass


@pytest.mark.parametrize("call", [
    lambda s, points: s.read_slot(Point.x, points),
    lambda s, points: s.unheld(points, 2),
    lambda s, points: s.held_elsewhere(points, np.arange(500), 0),
    lambda s, points: s.are_in_slots((Point.x,), points, ([1] * 500,)),
    lambda s, points: s.set_slot(Point.x, points, [[]] * 500),
], ids=["read_slot", "unheld", "held_elsewhere", "are_in_slots", "set_slot"])
def test_the_collector_may_change_the_list(slots, call):
    points = [Loose() for _ in range(500)]
    slots.set_slot(Point.x, points, [1] * 500)
    with contextlib.suppress(RuntimeError, IndexError, ValueError), collecting(points.clear):
        call(slots, points)
    assert slots.read_slot(Point.x, points) == [1] * len(points)


@pytest.mark.parametrize("call, error", [
    (lambda s: s.read_slot(Point.x, [Point()]), AttributeError),  # nothing is there yet
    (lambda s: s.read_slot(Place.name, [Point()]), TypeError),
    (lambda s: s.set_slot(Place.name, [Point()], [1]), TypeError),
    (lambda s: s.set_slot(Point.x, [Point()], [1, 2]), ValueError),
    (lambda s: s.read_slot(Point.x, 3), TypeError),
    (lambda s: s.are_same(3, []), TypeError),
    (lambda s: s.increment_slot(Place.name, [Point()]), TypeError),
    (lambda s: s.are_in_slots((Place.name,), [Point()], ([1],)), TypeError),
    (lambda s: s.held_elsewhere([], np.array([0]), 1), IndexError),
    (lambda s: s.unheld(3, 1), TypeError),
    (lambda s: s.exchange_each(WRITTEN, [Held()], [1], "", 0), AttributeError),  # it has no storage
    (lambda s: s.exchange_each(WRITTEN, [Point()], [1], "", 0), TypeError),
])
def test_bad_arguments(slots, call, error):
    with pytest.raises(error):
        call(slots)


def test_only_the_very_same_objects_are_the_same(slots):
    a, b = [1.5], [1.5]
    assert slots.are_same([a, b], (a, b))
    assert slots.are_same(iter([a, b]), [a, b])
    assert slots.are_same({"a": a}.values(), [a])
    assert not slots.are_same([a, b], [a, a])
    assert not slots.are_same([a], [a, b])
    assert not slots.are_same(iter([a, b]), [a])


def test_integers_are_counted_up_in_order(slots):
    points = [Point(), Point()]
    slots.set_slot(Point.x, points, [0, 10**6])
    slots.increment_slot(Point.x, [*points, points[0]])
    assert slots.read_slot(Point.x, points) == [2, 10**6 + 1]


def test_several_slots_are_compared_by_identity(slots):
    points, a, b = [Point(), Point()], [1], [1]
    slots.set_slot(Point.x, points, [a, b])
    slots.set_slot(Point.y, points, [None, None])
    assert slots.are_in_slots((Point.x, Point.y), points, ([a, b], [None, None]))
    assert not slots.are_in_slots((Point.x, Point.y), points, ([a, a], [None, None]))
    assert not slots.are_in_slots((Point.x, Point.y), points, ([a, b], [None, a]))
    assert not slots.are_in_slots((Point.x,), points, ([a],))


def test_objects_with_more_references(slots):
    objects = [Point() for _ in range(4)]
    held, twice = objects[1], [objects[3], objects[3]]
    places = np.array([0, 1, 3])
    assert slots.held_elsewhere(objects, places, 1) == [1, 3]
    assert slots.held_elsewhere(objects, places, 2) == [3]
    del held, twice
    assert slots.held_elsewhere(objects, places[::-1].copy(), 1) == []


def test_arrays_are_exchanged_up_to_a_storage_with_a_memory(slots):
    tensors, storages = [Held() for _ in range(4)], [Stored(), Stored(), Stored("shared"), Stored()]
    slots.set_slot(Held.storage, tensors, storages)
    slots.set_slot(Held.array, tensors, [0, 0, 0, 0])
    arrays = [[0], [1], [2], [3]]
    assert slots.exchange_each(WRITTEN, tensors, arrays, "step", 0) == 2
    assert slots.exchange_each(WRITTEN, tensors, arrays, "step", 3) == slots.exchange_each(WRITTEN, [], [], "", 0) + 4
    assert [t.array for t in tensors] == [[0], [1], 0, [3]]
    assert [(x.array, x.version, x.writer) for x in storages] == [
        ([0], 8, "step"), ([1], 8, "step"), (None, 7, None), ([3], 8, "step")]


class Open(Point):
    __slots__ = ("__dict__",)


def test_objects_that_only_a_list_holds(slots):
    objects = [Open() for _ in range(6)] + [None]
    held, seen = objects[0], weakref.ref(objects[1])
    objects[2].name = "mine"
    objects[3].name = "mine"
    del objects[3].name
    found = {id(x) for x in slots.unheld(objects, 1)}
    assert found == {id(x) for x in objects[3:6]}
    assert {id(x) for x in slots.unheld(objects, 2)} == found | {id(held)}
    assert seen() is objects[1]


class Moved:
    """Stands in for a slot, and records what is set."""

    def __init__(self, member):
        self.member, self.values = member, []

    def __get__(self, x, owner=None):
        return self.member.__get__(x)

    def __set__(self, x, value):
        self.values.append(value)
        self.member.__set__(x, value)


def make_point(value):
    point = Point()
    point.x, point.y = value, 5
    return point


def test_objects_are_made_with_values_in_their_slots(slots):
    make = slots.maker(Point, Point.x, {Point.y: 5}, make_point)
    value = object()
    before = sys.getrefcount(value)
    points = [make(value) for _ in range(100)]
    assert {type(p) for p in points} == {Point} and all(p.x is value and p.y == 5 for p in points)
    assert sys.getrefcount(value) == before + 100
    del points
    assert sys.getrefcount(value) == before


def test_what_stands_in_for_a_slot_is_set(slots):
    member = Point.x
    make = slots.maker(Point, member, {Point.y: 5}, make_point)
    try:
        Point.x = stand_in = Moved(member)
        assert make(3).x == 3 and stand_in.values == [3]
    finally:
        Point.x = member
    assert make(4).x == 4 and stand_in.values == [3]
