"""Contents of dicts, containers and objects, compared at once: by the extension and by its twin in Python."""

import collections
import importlib.util
import types

import pytest

from flambeau.compiler import _tables

MISSING = object()


def twins():
    """The module without the extension."""
    spec = importlib.util.find_spec("flambeau.compiler._tables")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLAMBEAU_NATIVE", "0")
        spec.loader.exec_module(module)
    return module


@pytest.fixture(params=[twins(), _tables], ids=["python", "as installed"])
def tables(request):
    return request.param


class Doubled(dict):
    def get(self, name, default):
        return 2 * super().get(name, default)

    def __getitem__(self, name):
        return self.get(name, None)


@pytest.mark.parametrize("make", [dict, collections.OrderedDict, lambda x: collections.defaultdict(list, x),
                                  types.MappingProxyType])
def test_items(tables, make):
    value = [1.5]
    table = make({"a": value, ("b", 2): None})
    assert tables.are_items([table] * 3, ["a", ("b", 2), "c"], [value, None, MISSING], MISSING)
    assert not tables.are_items([table], ["a"], [[1.5]], MISSING)
    assert not tables.are_items([table], ["a"], [MISSING], MISSING)
    assert not tables.are_items([table], ["c"], [value], MISSING)
    assert len(table) == 2  # nothing was made on the way


def test_lookups_may_change_the_lists(tables):
    found, names, values = [], [], []

    def empty():
        found.clear(), names.clear(), values.clear()

    class Mapping:
        def get(self, name, default):
            empty()
            return default

    class Name:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            empty()
            return True

    for make in (Mapping, lambda: {Name(): 1}):
        found += [make() for _ in range(40)]
        names += [Name() for _ in range(40)]
        values += [MISSING] * 40
        tables.are_items(found, names, values, MISSING)
        assert not found


def test_items_use_the_getitem_of_a_subclass(tables):
    assert tables.are_items([Doubled(a=3)], ["a"], [6], MISSING)
    assert not tables.are_items([Doubled(a=3)], ["a"], [3], MISSING)


def test_contents(tables):
    key, value, item = "a key", [1.5], object()
    a, b = {key: value, "k": item}, [item, value]

    def hold():
        return tables.are_contents([a, [], b], [2, 0, 2], [key, value, "k", item, item, value])

    assert hold()
    b.reverse()
    assert not hold()
    b.reverse()
    a["k"] = a.pop("k")
    assert hold()
    a[key] = a.pop(key)  # now the last one
    assert not hold()
    a["k"] = a.pop("k")
    a["more"] = item
    assert not hold()
    del a["more"]
    assert hold()
    b.append(item)
    assert not hold()
    assert not tables.are_contents([[item]], [1], [])
    assert not tables.are_contents([[item]], [1], [item, item])


def test_types(tables):
    assert tables.are_of_types([1, "a", None], [int, str, type(None)])
    assert not tables.are_of_types([True], [int])
    assert not tables.are_of_types([1], [])


@pytest.mark.parametrize("call", [
    lambda t: t.are_items([{}], ["a"], [], MISSING),
    lambda t: t.are_items([3], ["a"], [1], MISSING),
    lambda t: t.are_contents([3], [1], [3]),
])
def test_bad_arguments(tables, call):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        call(tables)
