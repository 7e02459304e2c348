"""A Python value is read, changes, and the compiled function is called again: the result is never stale.

Each probe returns (read, change): what the function multiplies its argument by, and what changes that. Some of these
values are guarded, some are inputs, others make the function run eagerly, with a warning; all must be right.
"""

import abc
import argparse
import array
import builtins
import collections
import contextvars
import copy
import ctypes
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import io
import itertools
import logging
import math
import mmap
import operator
import os
import queue
import random
import sqlite3
import sys
import threading
import time
import traceback
import types
import warnings
import weakref
from os import environ
from xml.etree import ElementTree

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F
from flambeau.ops._op import OPS

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


PROBES = {}


def probe(make):
    PROBES[make.__name__] = make
    return make


def holder(value):
    """(object with the value as an attribute, function that sets it)"""
    thing = types.SimpleNamespace(value=value)
    return thing, lambda new: setattr(thing, "value", new)


# ---- state of the process


@probe
def os_environ():
    os.environ["FLAMBEAU_PROBE"] = "1"
    return lambda: float(os.environ["FLAMBEAU_PROBE"]), lambda: os.environ.update(FLAMBEAU_PROBE="5")


@probe
def os_environ_by_name():
    environ["FLAMBEAU_PROBE"] = "1"
    return lambda: float(environ.get("FLAMBEAU_PROBE")), lambda: environ.update(FLAMBEAU_PROBE="5")


@probe
def os_getenv():
    os.environ["FLAMBEAU_PROBE"] = "1"
    return lambda: float(os.getenv("FLAMBEAU_PROBE", "9")), lambda: os.environ.update(FLAMBEAU_PROBE="5")


@probe
def environment_in_a_closure_of_a_closure():
    os.environ["FLAMBEAU_PROBE"] = "1"
    get = os.environ.get
    inner = lambda: float(get("FLAMBEAU_PROBE"))  # noqa: E731
    return lambda: inner(), lambda: os.environ.update(FLAMBEAU_PROBE="5")


@probe
def arguments_of_the_process():
    del sys.argv[1:]
    return lambda: len(sys.argv), lambda: sys.argv.append("more")


@probe
def context_variable():
    variable = contextvars.ContextVar("variable", default=1.0)
    return variable.get, lambda: variable.set(5.0)


@probe
def context_variable_of_a_function():
    variable = contextvars.ContextVar("variable", default=1.0)
    return lambda: variable.get() + 1, lambda: variable.set(5.0)


@probe
def thread_local():
    local = threading.local()
    local.rate = 1.0
    return lambda: local.rate, lambda: setattr(local, "rate", 5.0)


@probe
def thread_local_of_a_class():
    class Local(threading.local):
        rate = 1.0

    local = Local()
    return lambda: local.rate, lambda: setattr(local, "rate", 5.0)


@probe
def decimal_context():
    decimal.getcontext().prec = 2
    return lambda: float(decimal.Decimal(1) / 3), lambda: setattr(decimal.getcontext(), "prec", 8)


@probe
def decimal_context_of_a_number():
    decimal.getcontext().prec = 2
    one = decimal.Decimal(1)
    return lambda: float(one / 3), lambda: setattr(decimal.getcontext(), "prec", 8)


@probe
def log_level():
    log = logging.getLogger("flambeau.probe")
    log.setLevel(10)
    return lambda: log.level, lambda: log.setLevel(30)


@probe
def log_is_enabled():
    log = logging.getLogger("flambeau.probe")
    log.setLevel(10)
    return lambda: float(log.isEnabledFor(20)), lambda: log.setLevel(30)


@probe
def threads_of_flambeau():
    torch.set_num_threads(1)
    return lambda: torch.get_num_threads(), lambda: torch.set_num_threads(2)


@probe
def file():
    stream = io.StringIO("1 2 3 4 5 6 ")
    return lambda: float(stream.read(2)), lambda: None


@probe
def file_that_is_written_to():
    stream = open(os.devnull, "w")  # noqa: SIM115
    return lambda: 5 if stream.closed else 1, stream.close


@probe
def depth_of_the_stack():
    depth = [0]

    def read(n=0):
        return len(traceback.extract_stack()[-n - 1:]) if n == depth[0] else read(n + 1)

    return read, lambda: depth.__setitem__(0, 3)


@probe
def recursion_limit():
    limit = sys.getrecursionlimit()
    return lambda: sys.getrecursionlimit() - limit + 1, lambda: sys.setrecursionlimit(limit + 4)


# ---- random numbers and iterators


@probe
def python_random():
    random.seed(0)
    return lambda: random.random(), lambda: random.seed(5)


@probe
def python_random_choice():
    random.seed(0)
    return lambda: random.choice([1.0, 2.0, 3.0, 4.0]), lambda: random.seed(6)


@probe
def numpy_random():
    np.random.seed(0)
    return lambda: float(np.random.rand()), lambda: np.random.seed(5)


@probe
def numpy_generator():
    generators = {"a": np.random.default_rng(0)}
    return lambda: float(generators["a"].random()), lambda: generators.update(a=np.random.default_rng(5))


@probe
def method_of_a_generator_of_random_numbers():
    draw = random.Random(0).random
    return lambda: draw(), lambda: None


@probe
def counter():
    count = itertools.count()
    return lambda: next(count), lambda: None


@probe
def generator():
    numbers = (float(n) for n in range(9))
    return lambda: next(numbers), lambda: None


@probe
def iterator_in_an_object():
    thing, _ = holder(iter([float(n) for n in range(9)]))
    return lambda: next(thing.value), lambda: None


# ---- containers


@probe
def chain_map():
    first, second = {}, {"rate": 1.0}
    chain = collections.ChainMap(first, second)
    return lambda: chain["rate"], lambda: first.update(rate=5.0)


@probe
def mapping_proxy():
    table = {"rate": 1.0}
    proxy = types.MappingProxyType(table)
    return lambda: proxy["rate"], lambda: table.update(rate=5.0)


@probe
def mapping_proxy_of_a_class():
    class Config:
        rate = 1

    return lambda: vars(Config)["rate"], lambda: setattr(Config, "rate", 5)


@probe
def bytes_that_change():
    data = bytearray([1])
    return lambda: data[0], lambda: data.__setitem__(0, 5)


@probe
def subclass_of_bytes_that_change():
    class Data(bytearray):
        pass

    data = Data([1])
    return lambda: data[0], lambda: data.__setitem__(0, 5)


@probe
def array_of_numbers():
    data = array.array("d", [1.0])
    return lambda: data[0], lambda: data.__setitem__(0, 5.0)


@probe
def memory():
    data = bytearray([1])
    view = memoryview(data)
    return lambda: view[0], lambda: data.__setitem__(0, 5)


@probe
def number_of_c():
    number = ctypes.c_double(1.0)
    return lambda: number.value, lambda: setattr(number, "value", 5.0)


@probe
def small_array():
    table = np.ones(3)
    return lambda: float(table[0]), lambda: table.fill(5)


@probe
def large_array():
    table = np.ones(100_000)
    return lambda: float(table[7]), lambda: table.__setitem__(7, 5)


@probe
def array_of_objects():
    table = np.array([[1.0], None], dtype=object)
    return lambda: table[0][0], lambda: table[0].__setitem__(0, 5.0)


@probe
def array_in_a_dict_in_a_list():
    tables = [{"a": np.ones(3)}]
    return lambda: torch.from_numpy(tables[0]["a"]).sum(), lambda: tables[0]["a"].fill(5)


@probe
def user_dict():
    table = collections.UserDict(rate=1.0)
    return lambda: table["rate"], lambda: table.update(rate=5.0)


@probe
def ordered_dict():
    table = collections.OrderedDict(rate=1.0)
    return lambda: table["rate"], lambda: table.update(rate=5.0)


@probe
def default_dict():
    table = collections.defaultdict(int)
    return lambda: table["n"] + 1, lambda: table.update(n=5)


@probe
def queue_of_numbers():
    source = queue.SimpleQueue()
    for n in range(9):
        source.put(float(n))
    return lambda: source.get(), lambda: None


@probe
def set_of_names():
    names = {"a"}
    return lambda: len(names), lambda: names.add("b")


@probe
def nested_containers():
    tree = ({"a": [collections.deque([types.SimpleNamespace(rate=(1.0, [1.0]))])]},)
    return lambda: tree[0]["a"][0][0].rate[1][0], lambda: tree[0]["a"][0][0].rate[1].__setitem__(0, 5.0)


@probe
def list_in_a_named_tuple():
    Pair = collections.namedtuple("Pair", "a b")
    pair = Pair([1.0], 2)
    return lambda: pair.a[0], lambda: pair.a.__setitem__(0, 5.0)


@probe
def attribute_of_a_list():
    class Named(list):
        pass

    items = Named([1.0])
    items.rate = 1.0
    return lambda: items.rate, lambda: setattr(items, "rate", 5.0)


@probe
def weak_reference():
    class Thing:
        pass

    things = [Thing()]
    reference = weakref.ref(things[0])
    return lambda: 1.0 if reference() is not None else 5.0, things.clear


@probe
def weak_dict():
    class Thing:
        pass

    things = [Thing()]
    table = weakref.WeakKeyDictionary({things[0]: 1})
    return lambda: 1.0 + len(table), things.clear


# ---- functions


@probe
def cached_function():
    rates = [1.0]
    rate = functools.lru_cache(lambda: rates[0])

    def change():
        rates[0] = 5.0
        rate.cache_clear()

    return lambda: rate(), change


@probe
def cached_function_in_an_object():
    rates = {"a": 1.0}
    thing, _ = holder(functools.cache(lambda name: rates[name]))

    def change():
        rates["a"] = 5.0
        thing.value.cache_clear()

    return lambda: thing.value("a"), change


@probe
def attribute_of_a_function():
    def rate():
        return rate.value

    rate.value = 1.0
    return lambda: rate(), lambda: setattr(rate, "value", 5.0)


@probe
def default_of_a_function():
    def rate(value=1.0):
        return value

    return lambda: rate(), lambda: setattr(rate, "__defaults__", (5.0,))


@probe
def keyword_default_of_a_function():
    def rate(*, value=1.0):
        return value

    return lambda: rate(), lambda: rate.__kwdefaults__.update(value=5.0)


@probe
def code_of_a_function():
    def rate():
        return 1.0

    return lambda: rate(), lambda: setattr(rate, "__code__", (lambda: 5.0).__code__)


@probe
def keywords_of_a_partial():
    rate = functools.partial(lambda value: value, value=1.0)
    return lambda: rate(), lambda: rate.keywords.update(value=5.0)


@probe
def bound_method():
    thing = collections.UserList([1.0])
    get = thing.__getitem__
    return lambda: get(0), lambda: thing.__setitem__(0, 5.0)


@probe
def bound_method_of_a_dict():
    table = {"rate": 1.0}
    get = table.get
    return lambda: get("rate"), lambda: table.update(rate=5.0)


@probe
def slot_wrapper_of_a_list():
    items = [1.0]
    length = items.__len__
    return lambda: length(), lambda: items.append(2.0)


@probe
def getter_of_an_attribute():
    thing, change = holder(1.0)
    get = operator.attrgetter("value")
    return lambda: get(thing), lambda: change(5.0)


@probe
def function_of_math():
    before = math.sqrt
    return lambda: math.sqrt(4.0), lambda: (setattr(math, "sqrt", lambda x: 5.0), CLEANUP.append(
        lambda: setattr(math, "sqrt", before)))


@probe
def function_of_flambeau():
    before = F.relu
    return lambda: F.relu(torch.ones(1)), lambda: (setattr(F, "relu", lambda x: x * 5), CLEANUP.append(
        lambda: setattr(F, "relu", before)))


@probe
def method_of_a_layer():
    model, before = nn.Identity(), nn.Identity.forward
    return lambda: model(torch.ones(1)), lambda: (setattr(nn.Identity, "forward", lambda self, x: x * 5), CLEANUP.append(
        lambda: setattr(nn.Identity, "forward", before)))


@probe
def annotation_of_a_function():
    def rate(x: 1):
        pass

    return lambda: rate.__annotations__["x"], lambda: rate.__annotations__.update(x=5)


@probe
def name_of_a_function():
    def rate():
        pass

    rate.__name__ = "1"
    return lambda: float(rate.__name__), lambda: setattr(rate, "__name__", "5")


@probe
def text_of_a_function():
    def rate():
        """1"""

    return lambda: float(rate.__doc__), lambda: setattr(rate, "__doc__", "5")


@probe
def global_name_before_a_builtin():
    space = {"__name__": "users"}
    count = eval("lambda: len([0])", space)
    return lambda: count(), lambda: space.update(len=lambda x: 5)


@probe
def name_among_the_builtins():
    builtins.probed_rate = 1
    CLEANUP.append(lambda: delattr(builtins, "probed_rate"))
    return lambda: probed_rate, lambda: setattr(builtins, "probed_rate", 5)  # noqa: F821


@probe
def version_of_a_tensor():
    t = torch.ones(1)
    return lambda: 1 + t._version, lambda: t.add_(0)


# ---- classes and Python modules


@probe
def class_that_gets_an_attribute():
    class Config:
        pass

    config = Config()
    return lambda: getattr(config, "rate", 1), lambda: setattr(Config, "rate", 5)


@probe
def class_that_is_asked_and_gets_an_attribute():
    class Config:
        pass

    return lambda: 5 if hasattr(Config, "rate") else 1, lambda: setattr(Config, "rate", 5)


@probe
def class_between_that_gets_an_attribute():
    class First:
        rate = 1

    class Between(First):
        pass

    class Child(Between):
        pass

    return lambda: Child.rate + Child().rate, lambda: setattr(Between, "rate", 5)


@probe
def object_of_a_class_that_was_made_by_a_call():
    config = dataclasses.make_dataclass("Config", ["rate"])(1)
    return lambda: config.rate, lambda: setattr(config, "rate", 5)


@probe
def attribute_of_a_class_that_was_made_by_a_call():
    Config = types.new_class("Config", exec_body=lambda space: space.update(rate=1))
    return lambda: Config.rate, lambda: setattr(Config, "rate", 5)


@probe
def property_that_comes_before_an_attribute():
    class Config:
        pass

    config = Config()
    config.rate = 1
    return lambda: config.rate, lambda: setattr(Config, "rate", property(lambda self: 5))


@probe
def class_that_gets_another_way_to_attributes():
    class Config:
        pass

    config = Config()
    config.rate = 1
    return lambda: config.rate, lambda: setattr(Config, "__getattribute__", lambda self, name: 5)


@probe
def class_that_gets_a_way_to_missing_attributes():
    class Config:
        pass

    config = Config()
    return lambda: 1 if not hasattr(config, "rate") else config.rate, lambda: setattr(
        Config, "__getattr__", lambda self, name: 5)


@probe
def operator_of_a_class():
    class Config:
        def __len__(self):
            return 1

    config = Config()
    return lambda: len(config), lambda: setattr(Config, "__len__", lambda self: 5)


@probe
def names_that_a_class_matches():
    class Pair:
        __match_args__ = ("a",)
        a, b = 1, 5

    def read():
        match Pair():
            case Pair(value):
                return value

    return read, lambda: setattr(Pair, "__match_args__", ("b",))


@probe
def bases_of_a_class():
    class One:
        rate = 1

    class Five:
        rate = 5

    class Child(One):
        pass

    child = Child()
    return lambda: child.rate, lambda: setattr(Child, "__bases__", (Five,))


@probe
def class_registered_with_an_abstract_one():
    class Config:
        pass

    config, Known = Config(), abc.ABCMeta("Known", (), {})
    return lambda: 5 if isinstance(config, Known) else 1, lambda: Known.register(Config)


@probe
def subclasses_of_a_class():
    class First:
        pass

    kept = []
    return lambda: 1 + len(First.__subclasses__()), lambda: kept.append(type("Other", (First,), {}))


@probe
def name_of_a_class():
    class Config:
        pass

    Config.__name__ = "1"
    config = Config()
    return lambda: float(type(config).__name__), lambda: setattr(Config, "__name__", "5")


@probe
def attribute_that_is_not_asked_for_as_usual():
    class Config:
        pass

    config = Config()
    config.rate = 1
    return lambda: object.__getattribute__(config, "rate"), lambda: setattr(config, "rate", 5)


@probe
def setting_at_a_class_of_flambeau():
    cls, before = torch.distributions.Distribution, torch.distributions.Distribution._validate_args
    cls.set_default_validate_args(False)
    CLEANUP.append(lambda: cls.set_default_validate_args(before))
    return lambda: 5 if cls._validate_args else 1, lambda: cls.set_default_validate_args(True)


@probe
def imported_module_that_is_exchanged():
    first, second = types.ModuleType("probed_module"), types.ModuleType("probed_module")
    first.rate, second.rate = 1, 5
    sys.modules["probed_module"] = first
    CLEANUP.append(lambda: sys.modules.pop("probed_module"))

    def read():
        import probed_module

        return probed_module.rate

    return read, lambda: sys.modules.update(probed_module=second)


@probe
def module_imported_from_its_package():
    package, module = types.ModuleType("probed_package"), types.ModuleType("probed_package.settings")
    package.__path__, module.rate = [], 1
    space = {"__name__": "probed_package.user", "__package__": "probed_package"}
    sys.modules.update({"probed_package": package, "probed_package.settings": module})
    CLEANUP.append(lambda: [sys.modules.pop(name) for name in ("probed_package", "probed_package.settings")])
    exec("def read():\n    from .settings import rate\n    return rate", space)
    return space["read"], lambda: setattr(module, "rate", 5)


class Base:
    rate = 1.0


@probe
def attribute_of_super():
    class Child(Base):
        rate = 9.0

        def read(self):
            return super().rate

    child = Child()
    Base.rate = 1.0
    return lambda: child.read(), lambda: setattr(Base, "rate", 5.0)


@probe
def class_held_by_an_object():
    class Config:
        rate = 1.0

    thing, _ = holder(Config)
    return lambda: thing.value.rate, lambda: setattr(Config, "rate", 5.0)


@probe
def class_attribute_by_a_computed_name():
    class Config:
        rate_1 = 1.0

    return lambda: getattr(Config, f"rate_{len([0])}"), lambda: setattr(Config, "rate_1", 5.0)


@probe
def attribute_of_a_metaclass():
    class Meta(type):
        rate = 1.0

    class Config(metaclass=Meta):
        pass

    return lambda: Config.rate, lambda: setattr(Meta, "rate", 5.0)


@probe
def static_method():
    class Config:
        @staticmethod
        def rate():
            return 1.0

    return lambda: Config.rate(), lambda: setattr(Config, "rate", staticmethod(lambda: 5.0))


@probe
def class_of_an_object():
    class One:
        def rate(self):
            return 1.0

    class Five:
        def rate(self):
            return 5.0

    thing = One()
    return lambda: thing.rate(), lambda: setattr(thing, "__class__", Five)


@probe
def module_attribute():
    module = types.ModuleType("a_module")
    module.rate = 1.0
    return lambda: module.rate, lambda: setattr(module, "rate", 5.0)


@probe
def module_held_by_an_object():
    module = types.ModuleType("a_module")
    module.rate = "1"
    thing, _ = holder(module)
    return lambda: float(thing.value.rate), lambda: setattr(module, "rate", "5")


@probe
def module_attribute_by_a_computed_name():
    module = types.ModuleType("a_module")
    module.rate_1 = 1
    return lambda: getattr(module, f"rate_{len([0])}"), lambda: setattr(module, "rate_1", 5)


# ---- what Python does not see inside of


@probe
def mapped_memory():
    memory = mmap.mmap(-1, 1)
    memory[0] = 1
    return lambda: memory[0], lambda: memory.__setitem__(0, 5)


@probe
def database():
    base = sqlite3.connect(":memory:", isolation_level=None)
    CLEANUP.append(base.close)
    base.executescript("create table rates (rate); insert into rates values (1)")
    return lambda: base.execute("select rate from rates").fetchone()[0], lambda: base.execute("update rates set rate = 5")


@probe
def element_of_a_document():
    element = ElementTree.Element("step", rate="1")
    return lambda: float(element.get("rate")), lambda: element.set("rate", "5")


@probe
def contents_of_a_cell():
    cell = types.CellType(1)
    return lambda: cell.cell_contents, lambda: setattr(cell, "cell_contents", 5)


@probe
def registered_function():
    @functools.singledispatch
    def rate(x):
        return 1

    return lambda: rate(0), lambda: rate.register(int, lambda x: 5)


# ---- objects


class Mode(enum.Enum):
    TRAIN = 1

    def __init__(self, value):
        self.rate = 1


@probe
def attribute_of_an_enum_member():
    Mode.TRAIN.rate = 1
    return lambda: Mode.TRAIN.rate, lambda: setattr(Mode.TRAIN, "rate", 5)


@probe
def dataclass():
    @dataclasses.dataclass
    class Config:
        rates: list

    config = Config([1.0])
    return lambda: config.rates[0], lambda: config.rates.__setitem__(0, 5.0)


@probe
def slots():
    class Config:
        __slots__ = ("rate",)

    config = Config()
    config.rate = 1.0
    return lambda: config.rate, lambda: setattr(config, "rate", 5.0)


@probe
def dict_of_an_object():
    class Config:
        pass

    config = Config()
    config.__dict__["rate"] = 1
    return lambda: config.rate, lambda: config.__dict__.update(rate=5)


@probe
def dict_of_a_module():
    model = nn.Identity()
    model.__dict__["rate"] = 1
    return lambda: model.rate, lambda: model.__dict__.update(rate=5)


@probe
def computed_attribute():
    class Config:
        def __getattr__(self, name):
            return rates[0]

    rates, config = [1], Config()
    return lambda: config.rate, lambda: rates.__setitem__(0, 5)


@probe
def attributes_by_another_way():
    class Config:
        def __getattribute__(self, name):
            return object.__getattribute__(self, "rates")[0]

    config = Config()
    object.__setattr__(config, "rates", [1])
    return lambda: config.anything, lambda: object.__getattribute__(config, "rates").__setitem__(0, 5)


@probe
def attribute_of_a_number():
    class Rate(float):
        pass

    rates = [Rate(1.0)]
    rates[0].scale = 1
    return lambda: rates[0] * rates[0].scale, lambda: setattr(rates[0], "scale", 5)


@probe
def attribute_of_a_string():
    class Name(str):
        rate = 1

    names = {"a": Name("a")}
    return lambda: names["a"].rate, lambda: setattr(names["a"], "rate", 5)


@probe
def cached_property():
    class Config:
        value = 1

        @functools.cached_property
        def rate(self):
            return self.value

    config = Config()

    def change():
        config.value = 5
        del config.rate

    return lambda: config.rate, change


@probe
def parsed_arguments():
    space = argparse.Namespace(rates=[1.0])
    return lambda: space.rates[0], lambda: space.rates.__setitem__(0, 5.0)


@probe
def identity_of_a_tensor():
    thing, change = holder(torch.ones(1))
    known = {id(thing.value)}
    return lambda: 1.0 if id(thing.value) in known else 5.0, lambda: change(torch.ones(1))


@probe
def tensor_in_a_set():
    thing, change = holder(torch.ones(1))
    known = {thing.value}
    return lambda: 1.0 if thing.value in known else 5.0, lambda: change(torch.ones(1))


@probe
def setting_of_an_optimizer():
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    return lambda: optimizer.param_groups[0]["lr"], lambda: optimizer.param_groups[0].update(lr=5.0)


# ---- ways past the attributes


class Rates:
    rate = 1


def forget_rates():
    Rates.rate = 1
    return lambda: setattr(Rates, "rate", 5)


@probe
def class_attribute_by_a_getter():
    get = operator.attrgetter("rate")
    return lambda: get(Rates), forget_rates()


@probe
def class_attribute_by_a_partial():
    get = functools.partial(getattr, Rates, "rate")
    return lambda: get(), forget_rates()


@probe
def class_method_by_a_caller():
    class Config:
        @classmethod
        def rate(cls):
            return 1

    call = operator.methodcaller("rate")
    return lambda: call(Config), lambda: setattr(Config, "rate", classmethod(lambda cls: 5))


@probe
def attribute_of_a_global_class_by_a_computed_name():
    change = forget_rates()
    return lambda: getattr(Rates, "".join(["ra", "te"])), change


@probe
def attribute_of_a_class_in_a_table():
    change, table, names = forget_rates(), {"rates": Rates}, ["rate"]
    return lambda: getattr(table["rates"], names[0]), change


@probe
def dict_of_an_object_that_is_exchanged():
    space = argparse.Namespace(rate=1)
    return lambda: space.rate, lambda: setattr(space, "__dict__", {"rate": 5})


@probe
def dict_of_a_function_that_is_exchanged():
    def rate():
        pass

    rate.value = 1
    return lambda: rate.value, lambda: setattr(rate, "__dict__", {"value": 5})


@probe
def parameters_of_a_module_that_are_exchanged():
    layers = [nn.Linear(1, 1, bias=False) for _ in range(2)]
    for layer, value in zip(layers, (1.0, 5.0), strict=True):
        nn.init.constant_(layer.weight, value)
    return lambda: layers[0](torch.ones(1)), lambda: setattr(layers[0], "_parameters", layers[1]._parameters)


@probe
def buffers_of_a_module_that_are_exchanged():
    model = nn.Module()
    model.register_buffer("rate", torch.ones(1))
    return lambda: model.rate, lambda: model.__dict__.update(_buffers={"rate": torch.full((1,), 5.0)})


@probe
def state_of_an_object():
    space = Plain()
    space.value = 1
    return lambda: space.__reduce_ex__(2)[2]["value"], lambda: setattr(space, "value", 5)


@probe
def state_of_an_object_that_is_copied():
    space = Plain()
    space.value = 1
    return lambda: copy.copy(space).value, lambda: setattr(space, "value", 5)


@probe
def attribute_of_a_partial():
    rate = functools.partial(abs)
    rate.value = 1
    return lambda: rate.value, lambda: setattr(rate, "value", 5)


@probe
def partial_of_what_differs():
    read = functools.partial(sys.getrecursionlimit)
    sys.setrecursionlimit(2000)
    return lambda: read() / 1000, lambda: sys.setrecursionlimit(5000)


@probe
def called_in_c():
    read = sys.getrecursionlimit
    sys.setrecursionlimit(2000)
    return lambda: next(iter(read, None)) / 1000, lambda: sys.setrecursionlimit(5000)


@probe
def factory_of_a_dict():
    rates = collections.defaultdict(lambda: 1)
    return lambda: (rates["a"], rates.pop("a"))[0], lambda: setattr(rates, "default_factory", lambda: 5)


@probe
def enum_member_by_its_value():
    Mode.TRAIN.rate = 1
    return lambda: Mode(1).rate, lambda: setattr(Mode.TRAIN, "rate", 5)


@probe
def masked_array():
    rates = np.ma.array([1.0, 1e20], mask=[False, True])
    return lambda: float(rates.min() if rates.mask.any() else 5), lambda: setattr(rates, "mask", [False, False])


@probe
def zero_of_a_complex_number():
    thing, change = holder(complex(1, 0.0))
    return lambda: math.copysign(1, thing.value.imag), lambda: change(complex(1, -0.0))


@probe
def attribute_that_a_tensor_gets():
    t = torch.ones(1)
    return lambda: t * getattr(t, "rate", 1), lambda: setattr(t, "rate", 5)


@probe
def method_of_tensors():
    before = torch.Tensor.relu
    CLEANUP.append(lambda: setattr(torch.Tensor, "relu", before))
    return lambda: torch.ones(1).relu(), lambda: setattr(torch.Tensor, "relu", lambda x: x * 5)


CLEANUP = []


@pytest.mark.parametrize("name", PROBES)
def test_a_changed_value_is_never_stale(name):
    torch_threads, python_limit = torch.get_num_threads(), sys.getrecursionlimit()
    seen = []
    try:
        for wrap in (lambda f: f, torch.compile):
            read, change = PROBES[name]()
            function = wrap(lambda x, read=read: x * read())
            results = []
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*runs eagerly from now on.*", category=RuntimeWarning)
                for nr in range(6):
                    if nr == 3:
                        change()
                    results.append(function(torch.full((1,), 2.0)).item())
            seen.append(results)
            while CLEANUP:
                CLEANUP.pop()()
    finally:
        torch.set_num_threads(torch_threads)
        sys.setrecursionlimit(python_limit)
        decimal.setcontext(decimal.Context())
    eager, compiled = seen
    assert compiled == pytest.approx(eager)
    assert len(set(eager)) > 1  # the probe does change something


@pytest.mark.parametrize("clock", [time.time, time.perf_counter, time.monotonic, lambda: time.time_ns() / 1e9,
                                   lambda: datetime.datetime.now().timestamp()],
                         ids=["time", "perf_counter", "monotonic", "time_ns", "now"])
def test_clocks_go_on(clock):
    compiled = torch.compile(lambda x: x + clock())
    seen = [compiled(torch.zeros((), dtype=torch.float64)).item()]
    with pytest.warns(RuntimeWarning, match="runs eagerly from now on, because it (calls|uses)"):
        seen += [compiled(torch.zeros((), dtype=torch.float64)).item()]
    for _ in range(3):
        time.sleep(0.001)
        seen.append(compiled(torch.zeros((), dtype=torch.float64)).item())
    assert seen == sorted({*seen})


def test_isinstance_of_abstract_classes_is_supported():
    def scale(x, by):
        return x * (2 if isinstance(by, os.PathLike) else 3)

    compiled = torch.compile(scale)
    assert [compiled(torch.ones(()), 1).item() for _ in range(3)] == [3, 3, 3]
    assert compiled.count == 1


class Plain:
    """Of which a trace watches what is read and set."""

    def __init__(self):
        self.rate = 2.0

    def double(self):
        return 2 * self.rate


PLAIN = Plain()
WAYS_TO_LOOK_AT_A_CLASS = {
    "vars": lambda: len(vars(Plain)),
    "vars of a type": lambda: len(vars(type(PLAIN))),
    "vars, mapped": lambda: sum(map(len, map(vars, [Plain]))),
    "__dict__": lambda: "__setattr__" in Plain.__dict__,
    "__dict__ of all bases": lambda: sum("__delattr__" in cls.__dict__ for cls in type(PLAIN).__mro__),
    "getattr": lambda: len(getattr(Plain, "__dict__")),  # noqa: B009
    "past the metaclass": lambda: len(type.__getattribute__(Plain, "__dict__")),
    "a method": lambda: Plain.__setattr__ is object.__setattr__,
    "a method of a type": lambda: type(PLAIN).__getattribute__ is object.__getattribute__,
    "dir": lambda: len(dir(Plain)),
    "hasattr": lambda: hasattr(Plain, "__setattr__") + hasattr(Plain, "__getattr__"),
    "getmembers": lambda: len(inspect.getmembers(Plain, inspect.isfunction)),
    "getattr_static": lambda: inspect.isfunction(inspect.getattr_static(Plain, "__setattr__")),
    "classify_class_attrs": lambda: sum(a.defining_class is Plain for a in inspect.classify_class_attrs(Plain)),
    "__subclasses__": lambda: len(Plain.__subclasses__()),
}


@pytest.mark.parametrize("name", WAYS_TO_LOOK_AT_A_CLASS)
@pytest.mark.filterwarnings("ignore:.*runs eagerly from now on:RuntimeWarning")
def test_classes_have_what_they_have_eagerly(name):
    look = WAYS_TO_LOOK_AT_A_CLASS[name]

    def scale(x):
        return x * PLAIN.rate + float(look())

    expected = scale(torch.ones(())).item()
    compiled = torch.compile(scale)
    assert [compiled(torch.ones(())).item() for _ in range(4)] == [expected] * 4


def test_attributes_of_objects_are_no_reason_to_run_eagerly():
    def scale(x, thing):
        return x * vars(thing)["rate"] * thing.__dict__["rate"] * PLAIN.__dict__["rate"]

    compiled = torch.compile(scale)
    assert [compiled(torch.ones(()), PLAIN).item() for _ in range(3)] == [8.0] * 3
    assert compiled.count == 1


def test_inspecting_a_class_after_side_effects_is_refused():
    numbers = itertools.count()

    def count():
        return next(numbers) + len(vars(Plain))

    compiled = torch.compile(lambda x: x * count())
    compiled(torch.ones(()))
    with pytest.raises(RuntimeError, match=r"cannot be compiled: .*count may list the attributes of a class"):
        compiled(torch.ones(()))


def test_there_are_many_probes():
    assert len(PROBES) >= 110


def test_generated_functions_have_their_module():
    owners = [torch, torch.Tensor, F, torch.linalg, torch.special]
    functions = [f for owner in owners for f in vars(owner).values() if isinstance(f, types.FunctionType)]
    functions += [op.function for op in OPS.values()]
    assert [f for f in functions if "__name__" not in f.__globals__] == []


@pytest.mark.parametrize("impure", [time.time, random.random], ids=["time", "random"])
def test_what_a_volatile_function_does_before_it_raises_is_done(impure):
    weight, x, calls = torch.ones(3, requires_grad=True), torch.ones(3), []

    @torch.compile
    def step():
        calls.append(len(calls))
        impure()
        (weight * x).sum().backward()
        x.add_(1)
        if len(calls) > 1:
            raise ValueError("after the first call")

    step()
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="after the first"):
        step()
    assert calls == [0, 1]
    assert x.tolist() == [3.0] * 3
    assert weight.grad.tolist() == [3.0] * 3


def test_an_interrupt_while_a_function_is_traced_leaves_everything_as_it_was():
    weight, x, stops = torch.ones(3, requires_grad=True), torch.ones(3), [False]

    @torch.compile
    def step():
        (weight * x).sum().backward()
        x.add_(1)
        if stops[0]:
            raise KeyboardInterrupt

    step()
    stops[0] = True
    with pytest.raises(KeyboardInterrupt):
        step()
    assert x.tolist() == [2.0] * 3 and weight.grad.tolist() == [1.0] * 3
    stops[0] = False
    step()
    assert x.tolist() == [3.0] * 3 and weight.grad.tolist() == [3.0] * 3


def test_the_configuration_of_jax_makes_a_program_volatile():
    import jax

    @torch.compile
    def function(x):
        return x * (2 if jax.config.jax_log_compiles else 3)

    x = torch.ones(1)
    function(x)
    with pytest.warns(RuntimeWarning, match="jax"):
        function(x)
    jax.config.update("jax_log_compiles", True)
    try:
        assert function(x).item() == 2
    finally:
        jax.config.update("jax_log_compiles", False)
