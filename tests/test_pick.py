"""Selection of list items by index and by type: by the extension and by its twin in Python."""

import contextlib
import importlib.util
import sys

import numpy as np
import pytest

from _collecting import collecting
from flambeau import _pick


def twins():
    """The module without the extension."""
    spec = importlib.util.find_spec("flambeau._pick")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLAMBEAU_NATIVE", "0")
        spec.loader.exec_module(module)
    return module


@pytest.fixture(params=[twins(), _pick], ids=["python", "as installed"])
def module(request):
    return request.param


@pytest.mark.parametrize("numbers", [[], [2], [0, -1, 0], [*range(40)], [*range(-40, 0)]])
@pytest.mark.parametrize("kind", [list, tuple])
def test_items_are_picked_as_by_index(module, numbers, kind):
    items = kind([object() for _ in range(40)])
    found = module.picker(numbers)(items)
    assert type(found) is list
    assert [*map(id, found)] == [id(items[nr]) for nr in numbers]


def test_what_is_picked_is_held_once_for_each_time(module):
    items = [object(), object()]
    before = sys.getrefcount(items[0])
    found = module.picker([0, 0, 1])(items)
    within = sys.getrefcount(items[0])
    del found
    after = sys.getrefcount(items[0])
    assert (within, after) == (before + 2, before)


@pytest.mark.parametrize("number", [3, -4, 2**40, -2**40])
def test_numbers_without_an_item(module, number):
    items = [object() for _ in range(3)]
    before = sys.getrefcount(items[0])
    with pytest.raises(IndexError):
        module.picker([0, number])(items)
    after = sys.getrefcount(items[0])
    assert after == before


def test_the_collector_may_change_the_list(module):
    items, pick = [object() for _ in range(500)], module.picker(range(500))
    with contextlib.suppress(IndexError), collecting(items.clear):
        pick(items)
    items += [1.5, 2.5, 3]
    with collecting(items.clear):
        places = module.places_of_types(items, (float,))
    assert places in ([], [0, 1], [500, 501])


@pytest.mark.parametrize("numbers", [np.zeros(3), np.zeros((2, 2), np.intp), np.zeros(4, np.intp)[::2], [0]])
def test_numbers_are_a_vector_of_integers(numbers):
    if _pick.pick.__module__ == "flambeau._pick":
        pytest.skip("the extension was not built")
    with pytest.raises(TypeError, match="a vector of intp"):
        _pick.pick(numbers, [1, 2])


def test_places_of_the_very_types(module):
    objects = [1, True, "a", None, 2, 1.5] + [0.5] * 20 + ["b"]
    assert module.places_of_types(objects, (int, str)) == [0, 2, 4, 26]
    assert module.places_of_types(objects, (bytes,)) == []
    assert module.places_of_types(objects, ()) == []
    assert module.places_of_types([], (int,)) == []


def test_places_of_types_takes_lists_only(module):
    with pytest.raises(TypeError):
        module.places_of_types(3, (int,))
