"""Arguments that change between calls, and results that a call creates: compiled as eagerly."""

import collections
import dataclasses
import functools
import types
import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


CALLS = {}


def call(make):
    """`make` returns (function, what makes the arguments of call number i)."""
    CALLS[make.__name__] = make
    return make


def number(value):
    return torch.tensor([float(value)])


def plain(value):
    """What can be compared of a value, in and around which there may be tensors."""
    if isinstance(value, torch.Tensor):
        return value.to_dense().tolist()
    if isinstance(value, dict):
        return [(plain(k), plain(v)) for k, v in value.items()]
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, tuple | list | types.GeneratorType | zip):
        return [plain(v) for v in value]
    if isinstance(value, types.FunctionType | functools.partial):
        return plain(value())
    if isinstance(value, Slotted | nn.Module):
        return plain(value.x)
    return plain(vars(value)) if hasattr(value, "__dict__") else value


# ---- arguments


@call
def array_of_objects():
    inner = [1.0]

    def arguments(i):
        inner[0] = float(i)
        return number(1), np.array([inner, None], dtype=object)

    return lambda x, a: x * a[0][0], arguments


@call
def array_that_is_written_to():
    def function(x, a):
        a += 1
        return x * float(a[0])

    return function, lambda i: (number(1), np.ones(2))


@call
def array_that_is_returned():
    return lambda x, a: (x * 2, a), lambda i: (number(1), np.ones(2))


@call
def one_dict_or_two():
    def arguments(i):
        first = {"x": number(1)}
        return first, first if i < 3 else dict(first)

    return lambda a, b: a["x"] * (2 if a is b else 3), arguments


@call
def a_dict_that_is_a_closure_too():
    table = {"k": 2}

    def arguments(i):
        table["k"] = 2 if i < 3 else 5
        return number(1), table if i < 3 else {"k": 2}

    return lambda x, own: x * own["k"] * table["k"], arguments


@call
def a_dict_that_becomes_the_one_that_is_written_to():
    table = {}

    def function(x, own):
        table["k"] += 1
        return x * own["k"]

    def arguments(i):
        table["k"] = 2
        return number(1), {"k": 2} if i < 3 else table

    return function, arguments


@call
def a_list_of_tensors_that_are_written_to_elsewhere():
    outside = [number(1)]

    def function(own):
        outside[0].mul_(2)
        return own[0] * 1

    return function, lambda i: (outside if i % 2 else [number(3)],)


@call
def keys_that_are_equal():
    keys = [1, 1, 1, 1.0, True, (1, 2)]
    return lambda x, d: [x * 2, *[f"{k!r}" for k in d]], lambda i: (number(1), {keys[i]: 0})


@call
def keys_inside_of_keys():
    keys = [(1, 0.0)] * 3 + [(1.0, 0.0), (1, -0.0), (True, 0.0)]
    return lambda x, d: [x * 2, *[f"{k!r}" for k in d]], lambda i: (number(1), {keys[i]: 0})


@call
def ranges_of_the_same_elements():
    return lambda x, r: x * r.stop, lambda i: (number(1), range(0, 3 + i // 3, 2))


@call
def zeros_of_complex_numbers():
    zeros = [0.0, 0.0, 0.0, -0.0, 0.0, -0.0]
    return lambda x, c: x * np.copysign(1, c["a"][0].imag), lambda i: (number(1), {"a": [complex(1, zeros[i])]})


@call
def lengths_of_deques():
    def function(x, items):
        items.append(x)
        return x * len(items), collections.deque(items, maxlen=1)

    return function, lambda i: (number(1), collections.deque([1, 2], maxlen=2 + i // 3))


@call
def memory_of_arrays():
    def arguments(i):
        array = np.asarray(np.arange(4.0).reshape(2, 2), order="C" if i < 3 else "F")
        array.flags.writeable = i < 4
        return number(1), array

    return lambda x, a: x * (2 + a.flags.c_contiguous + 2 * a.flags.writeable), arguments


@call
def array_written_to_as_a_tensor():
    def function(x, a):
        torch.from_numpy(a).add_(1)
        torch.as_tensor(a)[0] = 7
        return x * 2

    return function, lambda i: (number(1), np.ones(2))


@call
def array_of_a_tensor_that_is_written_to():
    def function(x):
        t = torch.zeros(2)
        a = t.numpy()
        t += 1
        return x * float(a[0])

    return function, lambda i: (number(1),)


@call
def sparse_tensor():
    def function(x):
        return torch.sparse.sum(x) if x.is_sparse else x.sum()

    return function, lambda i: (torch.eye(2) if i < 3 else torch.eye(2).to_sparse(),)


@call
def tensor_of_inference_mode():
    def arguments(i):
        with torch.inference_mode(i > 2):
            return (torch.ones(2),)

    return lambda x: x * (2 if x.is_inference() else 3), arguments


@call
def place_in_memory():
    return lambda x: x * x.storage_offset(), lambda i: (torch.arange(9.0)[i // 3:][:2],)


# ---- tensors that are compared


@call
def a_tensor_that_becomes_the_one_it_is_compared_with():
    known = number(9)
    return lambda x: x * (2 if x is known else 3), lambda i: (number(1) if i < 3 else known,)


@call
def a_tensor_that_comes_to_be_among_others():
    known = [number(9), number(8)]
    return lambda x: x * (2 if any(x is k for k in known) else 3), lambda i: (number(1) if i < 3 else known[1],)


@call
def attributes_that_come_to_be_the_same():
    pair = types.SimpleNamespace(a=number(1), b=number(2))

    def arguments(i):
        pair.b = pair.a if i >= 3 else number(2)
        return ()

    return lambda: pair.b * (2 if pair.a is pair.b else 3), arguments


@call
def last_result():
    last = types.SimpleNamespace(x=None, y=None)

    def function(x):
        if x is last.x:
            return last.y
        last.x, last.y = x, x * 2
        return last.y

    inputs = [number(1), number(2)]
    return function, lambda i: (inputs[(0, 0, 1, 1, 0, 0)[i]],)


# ---- results


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Bare:
    pass


@dataclasses.dataclass
class Record:
    x: torch.Tensor


@call
def result_in_a_namespace():
    return lambda x: types.SimpleNamespace(loss=x * 2, parts=[x + 1]), lambda i: (number(i),)


@call
def result_in_slots():
    return lambda x: Slotted(x * 2), lambda i: (number(i),)


@call
def result_in_an_object_of_a_class_without_init():
    def function(x):
        result = Bare()
        result.x = x * 2
        return result

    return function, lambda i: (number(i),)


@call
def distribution():
    return lambda x: torch.distributions.Normal(x * 2, x.square() + 1), lambda i: (number(i),)


@call
def user_dict():
    return lambda x: collections.UserDict(x=x * 2), lambda i: (number(i),)


@call
def generator():
    return lambda x: (x * n for n in range(3)), lambda i: (number(i),)


@call
def pairs():
    return lambda x: zip([x], [x * 3], strict=True), lambda i: (number(i),)


@call
def closure_over_a_tensor():
    def function(x):
        y = x * 2
        return lambda: y

    return function, lambda i: (number(i),)


@call
def closure_over_a_list():
    def function(x):
        values = []

        def count():
            values.append(1)
            return len(values)

        return x * 2, count

    return function, lambda i: (number(i),)


@call
def partial_of_a_tensor():
    return lambda x: functools.partial(torch.add, x * 2, 1), lambda i: (number(i),)


@call
def bytes_that_can_be_changed():
    return lambda x: (x * 2, bytearray(b"a")), lambda i: (number(i),)


@call
def floats_as_keys():
    settings = types.SimpleNamespace(rate=0.5, seen={})

    def function(x):
        settings.seen[settings.rate] = settings.seen[settings.rate, 1] = x * settings.rate
        return {settings.rate: x}, settings, [type(key) for key in settings.seen]

    def arguments(i):
        settings.rate = 0.5 + i // 3
        return (number(i),)

    return function, arguments


@call
def tensor_with_a_gradient():
    def function(x):
        leaf = torch.ones(1, requires_grad=True)
        (leaf * x).sum().backward()
        return leaf, leaf.grad

    return lambda x: function(x)[0], lambda i: (number(i),)


@call
def tensor_with_an_attribute():
    def function(x):
        y = x * 2
        y.scale = 3
        return y

    return lambda x: (lambda y: (y, y.scale))(function(x)), lambda i: (number(i),)


@call
def module():
    def function(x):
        created = nn.Module()
        created.x = x * 2
        return created

    return function, lambda i: (number(i),)


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_what_they_do_eagerly(name):
    function, arguments = CALLS[name]()
    other, own_arguments = CALLS[name]()
    compiled, results = torch.compile(other), []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* runs eagerly from now on", RuntimeWarning)
        for i in range(6):
            want, got = arguments(i), own_arguments(i)
            results.append((function(*want), compiled(*got)))
            assert plain(got) == plain(want)
    for want, got in results:
        assert type(got) is type(want) and plain(got) == plain(want)


def bare(x):
    found = Bare()
    found.x = x
    return found


def shares(make):
    """(function that returns what it creates, and leaves it elsewhere, too; where that is)"""
    holder = Bare()

    def function(x):
        holder.last = made = make(x * 2)
        return made, [made], Slotted(made)

    return function, holder


@pytest.mark.parametrize("make", [
    lambda x: [x], lambda x: {"x": x}, lambda x: collections.deque([x]), lambda x: np.zeros(2), lambda x: Record(x),
    lambda x: types.SimpleNamespace(x=x), Slotted, bare,
], ids=["list", "dict", "deque", "array", "dataclass", "namespace", "slots", "bare"])
def test_what_is_created_once_is_there_once(make):
    function, holder = shares(make)
    compiled, seen = torch.compile(function), []
    for i in range(4):
        first, others, slotted = compiled(number(i))
        assert first is others[0] is slotted.x is holder.last
        seen.append(first)
    assert compiled.count == 1 and len({*map(id, seen)}) == 4


def test_what_contains_itself_runs_eagerly():
    def create(x):
        items = [x * 2]
        items.append(items)
        return items

    compiled = torch.compile(create)
    compiled(number(1))
    with pytest.warns(RuntimeWarning, match="it creates a list that contains itself"):
        items = compiled(number(2))
    assert items[1] is items and items[0] == 4
    compiled = torch.compile(lambda items: items[1][0] * 2)
    compiled(items)
    with pytest.warns(RuntimeWarning, match="an argument of it contains itself"):
        assert compiled(items) == 8


def test_unsupported_return_values_are_reported():
    compiled = torch.compile(lambda x: iter([x]))
    compiled(number(1))
    with pytest.warns(RuntimeWarning, match="it creates a list_iterator that it returns or sets"):
        compiled(number(1))


@pytest.mark.parametrize("returns", [
    lambda: torch.relu, lambda: types.SimpleNamespace, lambda: KNOWN.items.append, lambda: KNOWN, lambda: torch.float32,
    lambda: np.float64(1.5), lambda: functools.partial(torch.add, 1), lambda: number,
])
def test_what_is_the_same_each_time_may_be_returned(returns):
    compiled = torch.compile(lambda x: (x * 2, returns()))
    for i in range(3):
        (x, found), want = compiled(number(i)), returns()
        assert x == 2 * i and (found == want or isinstance(want, functools.partial))
    assert compiled.count == 1


KNOWN = Bare()
KNOWN.items = []


def test_tensors_without_elements_may_be_returned():
    compiled = torch.compile(lambda x: (x * 2, torch.zeros(3, device="meta")))
    compiled(number(1))
    with pytest.warns(RuntimeWarning, match="a tensor on the device meta"):
        compiled(number(1))
    x, found = compiled(number(2))
    assert x == 4 and found.is_meta and found.shape == (3,)


@pytest.mark.parametrize("device", ["xla", "cpu"])
def test_tensors_are_made_on_the_default_device_of_the_call(device):
    compiled = torch.compile(lambda: torch.zeros(3) + 1)
    for _ in range(2):
        compiled(), compiled()
        with torch.device(device):
            assert [compiled().device.type for _ in range(3)] == [device] * 3
