"""Subclasses of Tensor: functions and methods preserve their type, and dispatch to ``__torch_function__``."""

import contextlib
import copy
import pickle
import subprocess
import sys

import pytest

import flambeau
from _layers import LAYERS
from _programs import Programs, raised
from flambeau.utils._pytree import tree_leaves, tree_map_only

programs = Programs("overrides.json")


def kind(t):
    """A class that keeps itself through functions, made anew for each program."""
    return type("Kind", (t.Tensor,), {})


def logging(t):
    """A class that notes the names of the functions it is asked about."""

    class Logging(t.Tensor):
        log = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging


def names(values):
    return [type(v).__name__ for v in values]


@programs
def making(t):
    Kind = kind(t)
    x = t.arange(3.0).as_subclass(Kind)
    made = [x, Kind([1.0, 2.0]), Kind(2, 3), t.Tensor._make_subclass(Kind, t.ones(2), True)]
    x[0] = 9
    return [names(made), [list(m.shape) for m in made], made[3].requires_grad, made[1], isinstance(x, t.Tensor), repr(x),
            raised(lambda: t.ones(1).as_subclass(int)), x is x.as_subclass(Kind)]


@programs
def methods_and_operators(t):
    x = t.arange(1.0, 5.0).as_subclass(kind(t))
    found = [x + 1, 1 - x, 2 / x, x @ x, -x, abs(x), x > 2, x == x, x**2, 2**x, x % 2, x // 2, x[0], x[1:], x[x > 2], x.sum(),
             x.view(2, 2), x.view(2, 2).T, x.to(t.float64), x.clone(), x.detach(), x.data, x.exp(), x.long(), x.new_ones(2),
             x.unsqueeze(0), x.expand(2, 4), x.cumsum(0), x.softmax(0), x + t.ones(4), t.ones(4) + x, t.ones(4) * x]
    return [names(found), [f for f in found if f.dtype == t.float32]]


@programs
def functions(t):
    x = t.arange(1.0, 5.0).as_subclass(kind(t))
    y = t.ones(4)
    found = [t.add(x, y), t.add(y, x), t.stack([x, y]), t.cat([y, x]), t.zeros_like(x), t.einsum("i,i", y, x),
             t.where(y > 0, y, x), t.nn.functional.relu(x), t.nn.functional.linear(x, t.ones(2, 4)), t.linalg.norm(x),
             t.matmul(y, x), t.sum(input=x), t.nn.Linear(4, 2)(x), t.max(x, 0).values]
    plain = [t.tensor(x.tolist()), t.ones(2), t.add(y, y), t.stack([y])]
    return [names(found), names(plain), t.is_tensor(x), t.equal(x, x)]


@programs
def several_results(t):
    x = t.tensor([3.0, 1.0, 2.0]).as_subclass(kind(t))
    values, indices = x.sort()
    top = t.topk(x, 2)
    return [names([values, indices, top.values, *x.chunk(3), *t.split(x, 2), *x]), type(top).__name__, values, top.indices]


@programs
def in_place(t):
    x = t.ones(3).as_subclass(kind(t))
    y = x
    y += 1
    y.mul_(2)[0] = 7
    y.copy_(t.cat([x[1:], x[:1]]))
    return [x, y is x, type(x.add_(1)).__name__, x._version]


@programs
def gradients(t):
    x = t.ones(3, requires_grad=True)
    y = (x * 2).as_subclass(kind(t))
    z = (y * y).sum()
    z.backward()
    leaf = t.Tensor._make_subclass(kind(t), t.ones(2), True)
    (leaf.exp() * 2).sum().backward()
    return [type(z).__name__, x.grad, y.grad_fn.name(), leaf.grad, leaf.is_leaf, leaf.requires_grad]


@programs
def a_say_of_its_own(t):
    x = t.ones(2).as_subclass(logging(t))
    x + 1, 1 + x, x - 1, x * 2, x / 2, x.sum(), x[0], -x, x > 0, x**2, x @ x, x.add_(1), x.view(2, 1), x.clone()
    t.add(x, 1), t.stack([x, x]), t.mean(x, dim=0), t.cat([t.ones(1), x]), t.nn.functional.relu(x), t.ones(2) + x
    return type(x).log


@programs
def func_can_be_compared(t):
    seen = []

    class Counting(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append([func is t.mean, func is t.Tensor.add, func is t.add, [k.__name__ for k in types], len(args),
                         sorted(kwargs or {})])
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2).as_subclass(Counting)
    t.mean(x), t.mean(x, dim=0), x.add(1), t.add(x, 1), x + 1
    return seen


@programs
def handled_functions(t):
    handled = {}

    class Scaled(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in handled:
                return handled[func](*args, **(kwargs or {}))
            return NotImplemented

    handled[t.mean] = lambda x: "the mean"
    x = t.ones(2).as_subclass(Scaled)
    return [t.mean(x), raised(lambda: t.sum(x)), raised(lambda: x + 1)]


@programs
def metadata(t):
    class Tagged(t.Tensor):
        def __new__(cls, data, tag="none"):
            out = t.as_tensor(data).as_subclass(cls)
            out.tag = tag
            return out

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            out = super().__torch_function__(func, types, args, kwargs or {})
            tags = [a.tag for a in args if isinstance(a, Tagged) and hasattr(a, "tag")]
            if isinstance(out, Tagged) and tags:
                out.tag = "+".join(tags)
            return out

    a, b = Tagged([1.0, 2.0], "a"), Tagged([3.0, 4.0], "b")
    return [(a + b).tag, (a * 2).exp().tag, t.add(b, a).tag, a[0].tag, a + b]


@programs
def the_more_derived_class_is_asked_first(t):
    order = []

    def noting(name, base):
        def ask(cls, func, types, args=(), kwargs=None):
            order.append([name, [k.__name__ for k in types]])
            return NotImplemented if name == "B" else t.Tensor.__torch_function__(func, (), args, kwargs or {})

        return type(name, (base,), {"__torch_function__": classmethod(ask)})

    A = noting("A", t.Tensor)
    B = noting("B", A)
    x, y = t.ones(1).as_subclass(A), t.ones(1).as_subclass(B)
    t.add(x, y)
    return order


@programs
def unrelated_classes_do_not_mix(t):
    x, y = t.ones(1).as_subclass(kind(t)), t.ones(1).as_subclass(kind(t))
    return [raised(lambda: x + y), raised(lambda: t.add(x, y))]


@programs
def own_methods_and_super(t):
    class Loud(t.Tensor):
        def sum(self, *args):
            return super().sum(*args) * 10

        @property
        def twice(self):
            return self * 2

    x = t.ones(3).as_subclass(Loud)
    return [x.sum(), type(x.sum()).__name__, t.sum(x), x.twice, type(x.twice).__name__]


@programs
def parameters_give_plain_tensors(t):
    p = t.nn.Parameter(t.ones(2))
    return [names([p * 2, p.sum(), t.add(p, 1), p.data, p.clone(), p.detach(), p[0]]), type(p).__name__]


@programs
def switched_off(t):
    x = t.ones(2).as_subclass(logging(t))
    with t._C.DisableTorchFunctionSubclass():
        y = x + 1
        z = t.stack([x])

    class Off(t.Tensor):
        __torch_function__ = t._C._disabled_torch_function_impl

    return [names([y, z]), type(x).log, names([t.ones(1).as_subclass(Off) + 1]), (x + 1).sum()]


@programs
def for_own_functions(t):
    from_library = t.overrides

    def double(x):
        if from_library.has_torch_function((x,)):
            return from_library.handle_torch_function(double, (x,), x)
        return x * 2

    x = t.ones(2).as_subclass(logging(t))
    return [type(double(x)).__name__, type(x).log, type(double(t.ones(1))).__name__, from_library.is_tensor_like(x),
            from_library.is_tensor_like(t.ones(1)), from_library.is_tensor_like(3), from_library.has_torch_function((1, t.ones(1)))]


@programs
def attributes(t):
    """Reading, setting and deleting one is a call, too."""
    seen = []

    class Watching(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append([func == t.Tensor.shape.__get__, func == t.Tensor.dtype.__get__, func.__name__, len(args)])
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2, 3).as_subclass(Watching)
    values = [list(x.shape), str(x.dtype), x.device.type, x.ndim, x.requires_grad, x.is_leaf, x.grad, type(x.T).__name__]
    x.requires_grad = True
    x.grad = t.zeros(2, 3)
    values += [type(x.grad).__name__, type(x.data).__name__, type(x[0]._base).__name__ == "Watching"]
    del x.grad
    x.data = t.ones(3)
    return [values, seen]


@programs
def what_python_asks(t):
    x = t.ones(3, requires_grad=True).as_subclass(logging(t))
    leaf = t.Tensor._make_subclass(type(x), t.ones(1))
    repr(x), f"{x[0]}", len(x), 1.0 in x, bool(leaf), float(leaf), int(leaf), complex(leaf), reversed(x), +x, ~(x > 0)
    leaf.__reduce_ex__(2), x.sum().backward(), x.register_hook(print), leaf.is_inference(), x.__array__, hash(leaf)
    with contextlib.suppress(RuntimeError):  # PyTorch asks, and then cannot
        copy.deepcopy(leaf)
    return [n for n in type(x).log if n != "__get__"]


@programs
def methods_by_their_class_and_of_plain_tensors(t):
    x, y = t.ones(2).as_subclass(kind(t)), t.ones(2)
    found = [t.Tensor.add(x, 1), t.Tensor.add(y, x), y.add(x), y.mul(other=x), y.matmul(x), y.where(y > 0, x), y - x, y == x,
             t.Tensor.clone(x), t.Tensor.__getitem__(x, 0), y.clone().copy_(x)]
    return names(found)


@programs
def other_operands(t):
    class Other:
        def __radd__(self, tensor):
            return "its own sum"

        def __lt__(self, tensor):
            return "its own comparison"

    x = t.ones(2).as_subclass(kind(t))
    return [x + Other(), x > Other(), raised(lambda: x - Other()), raised(lambda: x + "s"), x == Other()]


@programs
def layers(t):
    x = t.ones(1, 2, 4).as_subclass(kind(t))
    nn = t.nn
    found = [nn.Conv1d(2, 1, 1), nn.Linear(4, 2), nn.ReLU(), nn.MaxPool1d(2), nn.AdaptiveAvgPool1d(2), nn.AvgPool1d(2), nn.Softmax(0),
             nn.LogSoftmax(0), nn.Dropout(), nn.SiLU(), nn.Hardswish(), nn.BatchNorm1d(2), nn.LayerNorm(4), nn.Flatten(), nn.GELU()]
    return names([layer(x) for layer in found])


@programs
def a_mode(t):
    log = []

    class Log(t.overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append([self.name, func.__name__])
            return func(*args, **(kwargs or {}))

    marked = t.ones(1).as_subclass(kind(t))
    with Log("outer"), Log("inner"):
        x = t.ones(2)
        x.add(1).shape, x + 1, -x, t.add(x, marked), t.nn.functional.relu(x), t.is_tensor(x), t.get_default_dtype(), repr(x)
        x.requires_grad = True
        (x * x).sum().backward()
        t.tensor(1), t.zeros(1), t.arange(2), t.as_tensor([1.0]), t.randn(1), t.manual_seed(0)
    t.add(x, 1)
    return log


test_overrides, test_recordings_are_what_torch_gives = programs.tests()


class Kept(flambeau.Tensor):
    pass


def test_copies_and_pickles_keep_the_class():
    x = flambeau.arange(3.0).as_subclass(Kept)
    x.note = "mine"
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is Kept and y.note == "mine" and y.tolist() == [0, 1, 2]


def test_subclasses_can_be_hashed_and_found_in_lists():
    x = flambeau.ones(1).as_subclass(Kept)
    assert len({x, x}) == 1 and x in [x]


def test_an_error_leaves_nothing_switched_off():
    x = flambeau.ones(2).as_subclass(Kept)
    with pytest.raises(RuntimeError, match="must match"):
        x + flambeau.ones(3)
    assert type(x + 1) is Kept


def test_error_names_the_refused_function_and_class():
    class Refusing(flambeau.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"'torch.add'.*Refusing"):
        flambeau.add(flambeau.ones(1).as_subclass(Refusing), 1)


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if "CrossMapLRN2d" not in str(layer)], ids=str)
def test_layers_give_objects_of_the_class(layer):
    """Layers call functions, and the class hears of them. (The one left out calls an op.)"""
    arguments = tree_map_only(flambeau.Tensor, lambda x: x.detach().as_subclass(Kept), layer.arguments(flambeau))
    outputs = tree_leaves(layer.make(flambeau)(*arguments))
    assert {type(y) for y in outputs} == {Kept}


BEFORE = """
import flambeau as torch
from flambeau import Tensor, add
from flambeau.nn.functional import relu
method, getter = Tensor.exp, Tensor.shape.fget
torch.as_subclass = Tensor.as_subclass            # as some libraries do
torch.nn.functional.my_relu = relu


class Kind(Tensor):
    pass


assert Kind.__bases__ == (Tensor,)
x = torch.as_subclass(torch.ones(2), Kind)
assert (torch.add, torch.nn.functional.relu, Tensor.exp, Tensor.shape.fget) == (add, relu, method, getter)
for call in (lambda: add(x, 1), lambda: relu(x), lambda: method(x), lambda: torch.nn.functional.my_relu(x)):
    assert type(call()) is Kind
assert str(inspect.signature(add)) == "(input, other, *, alpha=1, out=None)"
"""


def test_functions_stay_the_objects_they_were():
    """Who took one before there was such a class has the one that asks."""
    subprocess.run([sys.executable, "-c", "import inspect" + BEFORE], check=True)


# ---- modes


def test_a_mode_is_left_when_it_raises():
    class Broken(flambeau.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError(func.__name__)

    x = flambeau.ones(1)
    with pytest.raises(KeyError, match="add"), Broken():
        flambeau.add(x, 1)
    assert flambeau.add(flambeau.ones(1), 1).item() == 2


LOOK_AT_FRAMES = """
import sys
import flambeau as torch

class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))

def look(frame, event, argument):
    dict(frame.f_locals)
    return look

with Mode():
    sys.settrace(look)
    x = torch.ones(2, 2, requires_grad=True)
    (x.cumsum(0).softmax(1) @ torch.zeros(2, 2)).sum().backward()
    sys.settrace(None)
"""


def test_a_debugger_may_look_at_the_frames_of_calls_that_modes_take_over():
    subprocess.run([sys.executable, "-c", LOOK_AT_FRAMES], check=True)
