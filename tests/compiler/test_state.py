"""State other than tensors that a function reads and changes: guards, and replayed side effects."""

import argparse
import collections
import dataclasses
import functools
import itertools
import random
import types
import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax
settings = types.ModuleType("settings")


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


def agree(make, calls=6):
    """`make()` gives (function, change): both are called anew each time, and results compared with the plain ones."""
    (plain, change), (function, change_other) = make(), make()
    compiled = torch.compile(function)
    for nr in range(calls):
        change(nr)
        want = plain(torch.arange(3.0) + nr)
        change_other(nr)
        got = compiled(torch.arange(3.0) + nr)
        torch.testing.assert_close(got, want, equal_nan=True)


class Config:
    rate = 1.0

    def __init__(self):
        self.own = 1.0

    @property
    def twice(self):
        return 2 * self.own


class Slotted:
    __slots__ = ("count", "rate")

    def __init__(self):
        self.rate, self.count = 1.0, 0


def later(nr):
    return 1.0 if nr < 3 else 5.0


def read_places():
    """name -> (read, change): reads of something, and how it changes."""
    config, slotted, space, parsed = Config(), Slotted(), types.SimpleNamespace(rate=1.0), argparse.Namespace(rate=1.0)
    listed, held, cell = [Config(), Config()], {"a": types.SimpleNamespace(rate=1.0)}, [1.0]
    queue = collections.deque([1.0])
    value = 1.0

    def set_value(nr):
        nonlocal value
        value = later(nr)

    def set_first(nr):
        cell[0] = later(nr)

    def with_default(x, values=cell):
        return values[0]

    functions = [lambda: value]
    partial = functools.partial(lambda values: values[0], cell)
    return {
        "class attribute": (lambda: Config.rate, lambda nr: setattr(Config, "rate", later(nr))),
        "class attribute of an object": (lambda: config.rate, lambda nr: setattr(Config, "rate", later(nr))),
        "attribute": (lambda: config.own, lambda nr: setattr(config, "own", later(nr))),
        "getattr": (lambda: getattr(config, "o" + "wn"), lambda nr: setattr(config, "own", later(nr))),
        "absent attribute": (lambda: getattr(space, "more", 1.0), lambda nr: nr == 3 and setattr(space, "more", 5.0)),
        "vars": (lambda: vars(config)["own"], lambda nr: setattr(config, "own", later(nr))),
        "property": (lambda: config.twice, lambda nr: setattr(config, "own", later(nr))),
        "slot": (lambda: slotted.rate, lambda nr: setattr(slotted, "rate", later(nr))),
        "namespace": (lambda: space.rate, lambda nr: setattr(space, "rate", later(nr))),
        "parsed arguments": (lambda: parsed.rate, lambda nr: setattr(parsed, "rate", later(nr))),
        "object in a list": (lambda: listed[1].own, lambda nr: setattr(listed[1], "own", later(nr))),
        "namespace in a dict": (lambda: held["a"].rate, lambda nr: setattr(held["a"], "rate", later(nr))),
        "deque": (lambda: queue[0], lambda nr: queue.__setitem__(0, later(nr))),
        "module": (lambda: settings.rate, lambda nr: setattr(settings, "rate", later(nr))),
        "function in a list": (lambda: functions[0](), set_value),
        "partial": (lambda: partial(), set_first),
        "default": (lambda: with_default(None), set_first),
        "sign of zero": (lambda: 1 / torch.tensor(config.own), lambda nr: setattr(config, "own", 0.0 * (2.5 - nr))),
        "method": (lambda: listed[0].twice, lambda nr: nr == 3 and setattr(Config, "twice", 7.0)),
    }


settings.rate = 1.0
TWICE = Config.__dict__["twice"]


@pytest.mark.parametrize("name", [*read_places()])
def test_what_is_read_is_noticed_when_it_changes(name):
    def make():
        Config.rate, Config.twice = 1.0, TWICE
        read, change = read_places()[name]
        return lambda x: x * read(), change

    agree(make)


# ---- what is changed


RECORD = []
LAST = None


class Doubling(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)


class Recorder:
    last = None

    def __init__(self):
        self.slotted, self.things, self.table = Slotted(), [], {}
        self.counter, self.ordered = collections.Counter("ab"), Doubling(a=1)
        self.layer, self.hooked = nn.Identity(), nn.Identity()
        self.hooked.register_forward_hook(lambda *args: None)
        self.shadow = {"w": torch.zeros(3)}
        count = 0

        def counted(x):
            nonlocal count
            count += 1
            return x

        self.counted, self.count = counted, lambda: count

    def clear(self):
        global LAST
        RECORD.clear()
        LAST = Recorder.last = nn.Linear.last = None


def count_in_slot(r, x):
    r.slotted.count += 1
    return r.slotted.count


def append(r, x):
    r.things.append(x * 2)
    return [t.tolist() for t in r.things] if not torch.compiler.is_compiling() else None


def set_item(r, x):
    r.table["last"] = x * 2


def shadow(r, x):
    r.shadow["w"] = 0.5 * r.shadow["w"] + x


def set_global(r, x):
    global LAST
    LAST = x * 2


def record(r, x):
    RECORD.append(x.shape[0])


def set_class_attribute(r, x):
    Recorder.last = 3


def set_attribute_of_a_layer_class(r, x):
    nn.Linear.last = len(r.things)
    r.things.append(None)


def count_in_closure(r, x):
    r.counted(x)


def count_in_counter(r, x):
    r.counter["a"] += 1
    r.counter.update("bc")


def set_item_twice(r, x):
    r.ordered["b"] = 1
    r.ordered.move_to_end("a")


def add_hook(r, x):
    r.layer.register_forward_hook(lambda *args: None)
    r.hooked.register_forward_hook(lambda *args: None)


@pytest.mark.parametrize("change", [
    count_in_slot, append, set_item, shadow, set_global, record, set_class_attribute, set_attribute_of_a_layer_class,
    count_in_closure, count_in_counter, set_item_twice, add_hook,
], ids=lambda f: f.__name__)
def test_what_is_changed_is_changed_by_every_run(change, monkeypatch):
    monkeypatch.setattr(nn.Linear, "last", None, raising=False)

    def seen(r):
        kept = [r.slotted.count, r.things, r.table, r.shadow, LAST, RECORD, Recorder.last, nn.Linear.last, r.count(),
                r.counter, r.ordered, len(r.layer._forward_hooks), len(r.hooked._forward_hooks)]
        return str([[*v.items()] if isinstance(v, dict) else v for v in kept])

    plain, other = Recorder(), Recorder()
    compiled = torch.compile(lambda x: (change(other, x), x * 3)[1])
    for nr in range(5):
        x = torch.arange(3.0) + nr
        plain.clear()
        change(plain, x)
        want = seen(plain)
        other.clear()
        assert compiled(x).tolist() == (x * 3).tolist()
        assert seen(other) == want


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    n: int = 0


class Named(dict):
    pass


def fill_dict(d):
    d["y"] = d["x"] * 2
    return d


def fill_list(items):
    items.append(items[0] * 2)
    items[0] = 1
    return items


def fill_dataclass(b):
    b.x = b.x * 2
    b.n += 1
    return b


@pytest.mark.parametrize(("function", "make"), [
    (fill_dict, lambda nr: {"x": torch.ones(2) * nr}), (fill_list, lambda nr: [torch.ones(2) * nr]),
    (fill_dataclass, lambda nr: Batch(torch.ones(2) * nr)),
], ids=["dict", "list", "dataclass"])
def test_containers_among_the_arguments_are_changed_and_returned(function, make):
    compiled = torch.compile(function)
    for nr in range(4):
        want, given = function(make(nr)), make(nr)
        assert compiled(given) is given
        assert str(given) == str(want)


def test_attributes_of_containers_among_the_arguments_count():
    def named(scale):
        d = Named(x=torch.ones(1))
        d.scale = scale
        return d

    def batch(scale):
        b = Batch(torch.ones(1))
        b.scale = scale
        return b

    g, h = torch.compile(lambda d: d["x"] * d.scale), torch.compile(lambda b: b.x * b.scale)
    for scale in (1, 1, 1, 2, 3):
        assert g(named(scale)).item() == h(batch(scale)).item() == scale


# ---- what no program can be kept for


def iterators():
    items = iter([torch.full((3,), float(i)) for i in range(9)])
    lazily = (torch.full((3,), float(i)) for i in range(9))
    count, drawn, other = itertools.count(), random.Random(0), np.random.default_rng(0)
    return {
        "iterator": lambda x: x + next(items), "generator": lambda x: x + next(lazily),
        "count": lambda x: x * next(count), "random.Random": lambda x: x * drawn.random(),
        "numpy's generator": lambda x: x * float(other.random()), "random": lambda x: x * random.random(),
        "numpy's random numbers": lambda x: x * float(np.random.rand()),
    }


@pytest.mark.parametrize("name", [*iterators()])
def test_nondeterministic_functions_run_eagerly(name):
    def make():
        def seed(nr):
            random.seed(nr)
            np.random.seed(nr)

        return iterators()[name], seed

    with pytest.warns(RuntimeWarning, match="runs eagerly from now on"):
        agree(make)


def test_an_untracked_tensor_is_not_a_constant():
    import queue

    source = queue.SimpleQueue()
    g = torch.compile(lambda x: x + source.get())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for nr in range(5):
            source.put(torch.full((2,), float(nr)))
            assert g(torch.ones(2)).tolist() == [nr + 1, nr + 1]
    assert "the closed-over name source is a SimpleQueue" in str(caught[0].message)


def test_attributes_of_tensors():
    weight = torch.ones(1)
    weight.scale = 2.0

    def argument(scale):
        x = torch.ones(1)
        x.scale = scale
        return x

    g = torch.compile(lambda x: x * x.scale * weight * weight.scale)
    for scale in (1.0, 1.0, 1.0, 2.0, 3.0):
        assert g(argument(scale)).item() == 2 * scale
    weight.scale = 3.0
    assert g(argument(1.0)).item() == 3

    def f(x):
        weight.last = x * 2

    g = torch.compile(f)
    g(torch.ones(1))
    last = weight.last
    with pytest.raises(RuntimeError, match="sets an attribute on a tensor from outside"):
        g(torch.ones(1))
    assert weight.last is last


def test_the_tensors_of_a_deque_are_told_apart():
    window = collections.deque(maxlen=3)

    def f(x):
        window.append(x * 1)
        return sum(window)

    g = torch.compile(f)
    assert [g(torch.full((1,), float(nr))).item() for nr in range(6)] == [0, 1, 3, 6, 9, 12]


# ---- modules


def monkeypatch_forward(m):
    m.forward = lambda x: x * 7


def untie(m):
    m.tied = nn.Parameter(torch.full((3,), 4.0))


def tie(m):
    m.tied = m.other


def set_attribute_that_was_missing(m):
    m.extra = 5.0


@pytest.mark.parametrize("change", [monkeypatch_forward, untie, tie, set_attribute_that_was_missing],
                         ids=lambda f: f.__name__)
def test_changes_of_modules_between_calls(change):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = self.tied = nn.Parameter(torch.full((3,), 2.0))
            self.other = nn.Parameter(torch.full((3,), 3.0))

        def forward(self, x):
            return x * self.weight * self.tied + self.other * getattr(self, "extra", 1.0)

    plain, other = Model(), Model()
    compiled = torch.compile(other)
    for nr in range(6):
        if nr == 3:
            change(plain)
            change(other)
        assert compiled(torch.ones(3)).tolist() == plain(torch.ones(3)).tolist()


def test_values_that_have_not_changed_are_compared_at_once():
    """Each one by itself takes ten times as long."""
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()

    for _ in range(4):
        step(torch.ones(3, 2))
    (program,), = step.programs.values()
    assert program.guards.fast.holds() and step.count == 1


def test_a_hook_on_all_modules_is_noticed():
    model = nn.Identity()
    g = torch.compile(lambda x: model(x) + 1)
    for _ in range(3):
        assert g(torch.ones(1)).item() == 2
    with nn.modules.module.register_module_forward_hook(lambda m, i, o: o * 3):
        assert g(torch.ones(1)).item() == 4
    assert g(torch.ones(1)).item() == 2
