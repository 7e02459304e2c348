"""One slot of many objects, read or set at once: by the extension and by its twin in Python."""

import importlib.util
import weakref

import pytest

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


@pytest.mark.parametrize("call, error", [
    (lambda s: s.read_slot(Point.x, [Point()]), AttributeError),  # nothing is there yet
    (lambda s: s.read_slot(Place.name, [Point()]), TypeError),
    (lambda s: s.set_slot(Place.name, [Point()], [1]), TypeError),
    (lambda s: s.set_slot(Point.x, [Point()], [1, 2]), ValueError),
    (lambda s: s.read_slot(Point.x, 3), TypeError),
    (lambda s: s.are_same(3, []), TypeError),
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
