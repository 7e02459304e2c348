"""Module behaves like PyTorch's: attributes, registration, traversal, moves and modes."""
# ruff: noqa: B023  (the functions made in loops are called at once)

import copy
import dataclasses
import gc
import pickle
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import flambeau
from _programs import Programs, raised
from flambeau import nn

programs = Programs("nn_module.json")

def net(t):
    """Two blocks that share a Linear, a buffer that is saved and one that is not."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.linear = linear
            self.scale = nn.Parameter(t.ones(2))
            self.register_buffer("mean", t.zeros(2))
            self.register_buffer("cache", t.zeros(1), persistent=False)
            self.register_parameter("absent", None)
            self.register_buffer("nothing", None)
            self.register_module("none", None)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            shared = nn.Linear(2, 2)
            self.first = Block(shared)
            self.second = Block(shared)
            self.seq = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            self.register_buffer("steps", t.tensor(3))

    return Net()


def tables(m):
    """Where every name of a module is registered."""
    return [list(m._parameters), list(m._buffers), list(m._modules), sorted(m._non_persistent_buffers_set),
            list(m.state_dict()), sorted(k for k in m.__dict__ if k[:1] != "_")]


# ---- a new module


@programs
def empty_module(t):
    m = t.nn.Module()
    return [tables(m), m.training, repr(m), m.extra_repr(), m._get_name(), m._version, m.dump_patches, m.call_super_init,
            type(m._parameters), type(m._buffers), type(m._modules), len(m._forward_hooks), len(m._forward_pre_hooks),
            len(m._backward_hooks), len(m._state_dict_hooks), len(m._load_state_dict_pre_hooks), m._is_full_backward_hook]


@programs
def init_arguments(t):
    class Mixin:
        def __init__(self, word, other=None):
            self.word = [word, other]

    class Chained(t.nn.Module, Mixin):
        call_super_init = True

    class Unchained(t.nn.Module, Mixin):
        pass

    chained = Chained("a", other="b")
    return [raised(lambda: t.nn.Module(1)), raised(lambda: t.nn.Module(a=1)), chained.word, raised(lambda: Unchained("a")),
            hasattr(Unchained(), "word")]


@programs
def forward_is_missing(t):
    return [raised(lambda: t.nn.Module()(1)), raised(lambda: t.nn.Module().forward(1)),
            raised(lambda: t.nn.Module().get_extra_state()), raised(lambda: t.nn.Module().set_extra_state(1))]


@programs
def init_called_again(t):
    """It begins anew: tables, mode and hooks."""
    m = t.nn.Linear(2, 2).eval()
    m.register_forward_hook(lambda *_: None)
    t.nn.Module.__init__(m)
    return [tables(m), m.training, len(m._forward_hooks)]


@programs
def forgotten_init(t):
    class Forgot(t.nn.Module):
        def __init__(self):
            pass

    def assign(value):
        def run():
            Forgot().x = value

        return raised(run)

    plain = Forgot()
    plain.number = 3
    return [assign(t.nn.Parameter(t.ones(1))), assign(t.nn.Linear(1, 1)), assign(t.nn.Buffer(t.ones(1))), assign(t.ones(1)),
            plain.number, raised(lambda: Forgot().missing), raised(lambda: Forgot().register_buffer("x", t.ones(1))),
            raised(lambda: Forgot().register_parameter("x", t.nn.Parameter(t.ones(1)))),
            raised(lambda: Forgot().add_module("x", t.nn.Linear(1, 1))), raised(lambda: Forgot().register_forward_hook(print))]


@programs
def calls(t):
    class Many(t.nn.Module):
        def forward(self, a, *rest, key=1, **more):
            return [a, list(rest), key, sorted(more.items())]

    m = Many()
    return [m(1), m(1, 2, 3, key=4, b=5), m(a=1), raised(lambda: m()), raised(lambda: t.nn.Linear(2, 2)()),
            raised(lambda: t.nn.Linear(2, 2)(t.ones(3))), t.nn.Identity(1, b=2)(7)]


@programs
def forward_may_be_replaced(t):
    m = t.nn.Linear(2, 2)
    m.forward = lambda x: x + 1
    return m(t.ones(2))


@programs
def unusual_results(t):
    class Returns(t.nn.Module):
        def forward(self, x):
            return x

    m = Returns()
    return [m(None), m("text"), m({"a": t.ones(1)}), m([t.ones(1), (1, 2)])]


# ---- registration by assignment


@programs
def assignment(t):
    m = t.nn.Module()
    m.p = t.nn.Parameter(t.ones(2))
    m.b = t.nn.Buffer(t.ones(2))
    m.c = t.nn.Buffer(t.ones(2), persistent=False)
    m.m = t.nn.Linear(1, 1)
    m.t = t.ones(2)
    m.n = None
    m.s = "word"
    return [tables(m), "p" in m.__dict__, m.p is m._parameters["p"], m.m is m._modules["m"], m.t, m.n, m.s]


@programs
def assigning_none_and_again(t):
    m = t.nn.Module()
    m.p, m.b, m.m = t.nn.Parameter(t.ones(2)), t.nn.Buffer(t.ones(2)), t.nn.ReLU()
    m.p = m.b = m.m = None
    states = [tables(m), m.p, m.b, m.m]
    m.p, m.b, m.m = t.nn.Parameter(t.zeros(2)), t.zeros(2), t.nn.Tanh()
    return [*states, tables(m), m.p, m.b, repr(m.m)]


@programs
def wrong_types(t):
    def assigning(kind, value):
        m = t.nn.Module()
        m.p, m.b, m.m = t.nn.Parameter(t.ones(2)), t.nn.Buffer(t.ones(2)), t.nn.ReLU()

        def run():
            setattr(m, kind, value)

        return [raised(run), tables(m)]

    values = [t.ones(2), 3, "x", [1], t.nn.ReLU, None]
    return [assigning(kind, value) for kind in "pbm" for value in values]


@programs
def a_name_changes_its_kind(t):
    makers = [lambda: t.nn.Parameter(t.ones(1)), lambda: t.nn.Buffer(t.ones(1)),
              lambda: t.nn.Buffer(t.ones(1), persistent=False), lambda: t.nn.Linear(1, 1), lambda: 3, lambda: t.ones(1),
              lambda: None]
    results = []
    for first in makers:
        for second in makers:
            m = t.nn.Module()
            m.x = first()

            def change(m=m, second=second):
                m.x = second()

            results.append([raised(change), tables(m)])
    return results


@programs
def register_under_a_taken_name(t):
    things = {"register_parameter": lambda: t.nn.Parameter(t.ones(1)), "register_buffer": lambda: t.ones(1),
              "add_module": lambda: t.nn.ReLU(), "register_module": lambda: t.nn.ReLU()}
    results = []
    for first, make in things.items():
        for second, remake in things.items():
            m = t.nn.Module()
            getattr(m, first)("x", make())
            results.append([raised(lambda: getattr(m, second)("x", remake())), tables(m)])
    m = t.nn.Linear(1, 1)
    taken = ["forward", "training", "in_features", "_parameters", "__class__", "weight"]
    return [results, [[raised(lambda: getattr(m, register)(name, make())) for name in taken] for register, make in things.items()]]


@programs
def names_that_are_refused(t):
    def all_ways(name):
        m = t.nn.Module()
        return [raised(lambda: m.register_parameter(name, t.nn.Parameter(t.ones(1)))),
                raised(lambda: m.register_buffer(name, t.ones(1))), raised(lambda: m.add_module(name, t.nn.ReLU())),
                raised(lambda: m.register_module(name, t.nn.ReLU())), raised(lambda: setattr(m, name, t.nn.ReLU())),
                raised(lambda: setattr(m, name, t.nn.Parameter(t.ones(1)))),
                raised(lambda: setattr(m, name, t.nn.Buffer(t.ones(1)))), raised(lambda: setattr(m, name, 3)), tables(m)]

    return [all_ways(name) for name in ("a.b", "", 1, None, ("a",), b"x", "ok")]


@programs
def registering_wrong_things(t):
    m = t.nn.Module()
    leaf = t.ones(1, requires_grad=True)
    not_leaf = t.nn.Parameter(t.ones(1)) * 2
    values = [3, "x", leaf, not_leaf, t.nn.ReLU, t.nn.ReLU(), None, t.nn.Parameter(t.ones(1))]
    return [[raised(lambda: t.nn.Module().register_parameter("x", v)), raised(lambda: t.nn.Module().register_buffer("x", v)),
             raised(lambda: t.nn.Module().add_module("x", v))] for v in values] + [tables(m)]


@programs
def buffers_are_what_they_were_given(t):
    m = t.nn.Module()
    x = t.ones(2, requires_grad=True)
    m.register_buffer("x", x)
    parameter = t.nn.Parameter(t.ones(2))
    m.register_buffer("p", parameter)
    m.b = t.nn.Buffer(x)
    return [m.x is x, m.x.requires_grad, list(m._buffers), len(list(m.parameters())), m.p is parameter, type(m.b).__name__,
            m.b.requires_grad, m.b.data_ptr() == x.data_ptr()]


@programs
def persistence_changes(t):
    m = t.nn.Module()
    seen = []
    for make in (lambda: m.register_buffer("b", t.ones(1), persistent=False), lambda: m.register_buffer("b", t.ones(1)),
                 lambda: setattr(m, "b", t.nn.Buffer(t.ones(1), persistent=False)), lambda: setattr(m, "b", t.zeros(1)),
                 lambda: setattr(m, "b", t.nn.Buffer(t.ones(1))), lambda: m.register_buffer("b", None, persistent=False),
                 lambda: delattr(m, "b"), lambda: m.register_buffer("b", t.ones(1))):
        make()
        seen.append(tables(m))
    return seen


@programs
def deleting(t):
    m = net(t)
    first = m.first
    del first.linear, first.scale, first.mean, first.cache, first.absent, first.nothing
    first.note = 1
    del first.note
    return [tables(first), raised(lambda: delattr(first, "linear")), raised(lambda: delattr(first, "forward")),
            raised(lambda: first.linear), list(m.state_dict())]


@programs
def order_after_replacement(t):
    m = t.nn.Module()
    for name in "abc":
        setattr(m, name, t.nn.Linear(1, 1))
    m.a = t.nn.ReLU()
    del m.b
    m.b = t.nn.Tanh()
    return [list(m._modules), repr(m)]


@programs
def missing_attributes(t):
    m = net(t)
    return [raised(lambda: m.missing), hasattr(m, "missing"), getattr(m, "missing", 3), raised(lambda: m.first.missing),
            hasattr(m, "first"), m.first.absent, m.first.none]


@programs
def directory(t):
    m = net(t)
    here = [n for n in dir(m) if n in ("first", "second", "seq", "steps", "training", "forward", "_modules", "to", "0")]
    return [here, "0" in dir(m.seq), "scale" in dir(m.first), "mean" in dir(m.first), sorted(dir(m)) == dir(m)]


@programs
def properties(t):
    class Halved(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = t.nn.Parameter(t.ones(2))

        @property
        def half(self):
            return self.weight / 2

        @half.setter
        def half(self, value):
            self.weight = t.nn.Parameter(value * 2)

        @property
        def broken(self):
            return self.missing

    m = Halved()
    before = m.half
    m.half = t.full((2,), 3.0)
    return [before, m.weight, raised(lambda: m.broken), hasattr(m, "broken"), getattr(m, "broken", 1)]


@programs
def class_attributes_and_annotations(t):
    class Typed(t.nn.Module):
        shared: int = 3
        table = [1, 2]

        def __init__(self):
            super().__init__()
            self.shared = 4

    return [Typed.shared, Typed().shared, Typed().table, tables(Typed())]


# ---- traversal


@programs
def going_over(t):
    m = net(t)
    return [[n for n, _ in m.named_modules()], [n for n, _ in m.named_children()], [n for n, _ in m.named_parameters()],
            [n for n, _ in m.named_buffers()], [type(c) for c in m.modules()], [type(c) for c in m.children()],
            [list(p.shape) for p in m.parameters()], [list(b.shape) for b in m.buffers()]]


@programs
def going_over_with_duplicates(t):
    m = net(t)
    return [[n for n, _ in m.named_modules(remove_duplicate=False)], len(list(m.modules(remove_duplicate=False))),
            [n for n, _ in m.named_parameters(remove_duplicate=False)],
            [n for n, _ in m.named_buffers(remove_duplicate=False)], list(m.state_dict())]


@programs
def going_over_with_prefix_and_without_recursion(t):
    m = net(t)
    return [[n for n, _ in m.named_modules(prefix="root")], [n for n, _ in m.named_modules(prefix="a.b")],
            [n for n, _ in m.named_parameters(prefix="root")], [n for n, _ in m.named_buffers("root", False)],
            [n for n, _ in m.named_parameters("", False)], [n for n, _ in m.first.named_parameters(recurse=False)],
            len(list(m.parameters(recurse=False))), len(list(m.buffers(recurse=False))), len(list(m.buffers(False)))]


@programs
def named_modules_with_memo(t):
    m = net(t)
    memo = {m.seq}
    first = [n for n, _ in m.named_modules(memo)]
    return [first, len(memo), [n for n, _ in m.named_modules(memo=memo)]]


@programs
def one_parameter_in_two_places(t):
    nn = t.nn
    embedding, head = nn.Linear(3, 4, bias=False), nn.Linear(3, 4, bias=False)
    head.weight = embedding.weight
    m = nn.Sequential(embedding, head)
    m.register_buffer("a", t.ones(1))
    m[0].register_buffer("b", m.a)
    return [[n for n, _ in m.named_parameters()], [n for n, _ in m.named_parameters(remove_duplicate=False)],
            list(m.state_dict()), [n for n, _ in m.named_buffers()], [n for n, _ in m.named_buffers(remove_duplicate=False)]]


@programs
def one_module_in_two_places(t):
    linear = t.nn.Linear(1, 1)
    m = t.nn.Sequential(linear, t.nn.Sequential(linear), linear)
    return [[n for n, _ in m.named_children()], [n for n, _ in m.named_modules()], len(list(m.parameters())), repr(m)]


@programs
def what_goes_over_the_tree_may_be_overridden(t):
    nn = t.nn

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = nn.Linear(1, 1)
            self.hidden = nn.Linear(1, 1)

    class Modules(Pair):
        def named_modules(self, memo=None, prefix="", remove_duplicate=True):
            return ((n, m) for n, m in super().named_modules(memo, prefix, remove_duplicate) if "hidden" not in n)

    class Children(Pair):
        def named_children(self):
            return (pair for pair in super().named_children() if pair[0] != "hidden")

    class Parameters(Pair):
        def named_parameters(self, *args, **kwargs):
            yield "only", self.seen.weight

    def account(m):
        kinds = []
        m.apply(lambda m: kinds.append(type(m)))
        m.eval()
        m.to(t.float64)
        m.requires_grad_(False)
        return [[n for n, _ in m.named_modules()], len(list(m.modules())), len(list(m.children())),
                [n for n, _ in m.named_parameters()], len(list(m.parameters())), kinds,
                [[p.dtype == t.float64, p.requires_grad] for p in m.state_dict(keep_vars=True).values()]]

    return [[account(kind()), account(nn.Sequential(kind()))] for kind in (Pair, Modules, Children, Parameters)]


@programs
def iterators_are_generators(t):
    m = net(t)
    return [type(f()) for f in (m.modules, m.named_modules, m.children, m.named_children, m.parameters, m.named_parameters,
                                m.buffers, m.named_buffers)]


@programs
def changing_while_going_over(t):
    m = t.nn.Sequential(t.nn.ReLU(), t.nn.ReLU())

    def add():
        for i, _ in enumerate(m.children()):
            m.add_module(f"more{i}", t.nn.ReLU())

    return raised(add)


@programs
def trees_that_contain_themselves(t):
    m = t.nn.Sequential(t.nn.Linear(1, 1))
    m.add_module("loop", m)
    short = [len(list(m.modules())), len(list(m.parameters())), [n for n, _ in m.named_modules()],
             [n for n, _ in m.named_parameters()], m.zero_grad(), len(list(m.buffers()))]
    endless = [lambda: repr(m), lambda: m.train(), lambda: m.eval(), lambda: m.state_dict(), lambda: m.apply(lambda c: None),
               lambda: m.to(t.float64), lambda: list(m.named_modules(remove_duplicate=False))]
    copied = copy.deepcopy(m)
    return [short, [raised(f) for f in endless], copied.loop is copied, len(list(copied.modules()))]


# ---- by path


@programs
def paths(t):
    m = net(t)
    return [m.get_submodule("") is m, m.get_submodule("seq.0") is m.seq[0], m.get_submodule("first.linear") is m.first.linear,
            m.get_parameter("first.scale") is m.first.scale, m.get_parameter("seq.0.bias").shape == (3,),
            m.get_buffer("steps"), m.get_buffer("first.mean")]


@programs
def paths_that_lead_nowhere(t):
    m = net(t)
    m.note = 1
    m.first.plain = t.ones(1)
    targets = ["nope", "first.nope", "first.scale", "first.scale.x", "note", "first..linear", ".first", "first.", "first.none",
               "first.absent", "first.nothing", "first.plain", "steps", "seq", "seq.7", "", "training"]
    return [[raised(lambda: get(target)) for target in targets] for get in (m.get_submodule, m.get_parameter, m.get_buffer)]


@programs
def set_submodule(t):
    m = net(t)
    m.set_submodule("seq.0", t.nn.Identity())
    m.set_submodule("first.new", t.nn.Tanh())
    m.set_submodule("top", t.nn.ReLU())
    m.set_submodule("second", t.nn.ReLU(), strict=True)
    return repr(m)


@programs
def set_submodule_errors(t):
    cases = [("", t.nn.ReLU(), False), ("nope.x", t.nn.ReLU(), False), ("nope", t.nn.ReLU(), True),
             ("first.scale", t.nn.ReLU(), False), ("steps", t.nn.ReLU(), False), ("seq.9", t.nn.ReLU(), True),
             ("seq.9", t.nn.ReLU(), False), ("first", 3, False), ("first", t.nn.ReLU, False), ("first", None, False),
             ("first.none", t.nn.ReLU(), False), ("first.none", t.nn.ReLU(), True), ("training", t.nn.ReLU(), False)]
    results = []
    for target, module, strict in cases:
        m = net(t)
        results.append([raised(lambda: m.set_submodule(target, module, strict)), [n for n, _ in m.named_modules()]])
    return results


# ---- apply, modes, gradients


@programs
def apply(t):
    m, seen = net(t), []
    result = m.apply(lambda c: seen.append(type(c)))
    return [seen, result is m]


@programs
def apply_as_the_documentation_shows(t):
    @t.no_grad()
    def ones(m):
        if type(m) == t.nn.Linear:  # noqa: E721
            m.weight.fill_(1.0)

    m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 2))
    m.apply(ones)
    return [m[0].weight, m[1].weight]


@programs
def modes(t):
    m = net(t)
    start = [c.training for c in m.modules()]
    m.eval()
    off = [c.training for c in m.modules()]
    m.seq.train()
    mixed = [c.training for c in m.modules()]
    return [start, off, mixed, m.train() is m, m.eval() is m, m.train(False).training, m.train(True).training,
            [raised(lambda: m.train(v)) for v in (1, 0, "x", None, t.tensor(True))]]


@programs
def train_may_be_overridden(t):
    class Frozen(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = t.nn.Dropout()
            self.rest = t.nn.Dropout()

        def train(self, mode=True):
            super().train(mode)
            self.norm.eval()
            return self

    m = t.nn.Sequential(Frozen())
    return [[c.training for c in m.train().modules()], [c.training for c in m.eval().modules()]]


@programs
def requires_grad(t):
    m = net(t)
    result = m.requires_grad_(False)
    off = [p.requires_grad for p in m.parameters()]
    m.seq.requires_grad_()
    return [result is m, off, [p.requires_grad for p in m.parameters()], [b.requires_grad for b in m.buffers()]]


@programs
def zero_grad(t):
    def after(**how):
        m = t.nn.Linear(2, 1)
        m.requires_grad_(True)
        m(t.ones(2)).sum().backward()
        held = m.weight.grad
        m.zero_grad(**how)
        return [m.weight.grad, m.bias.grad, held]

    def with_history():
        m = t.nn.Linear(2, 1)
        m(t.ones(2)).pow(2).sum().backward(create_graph=True)
        m.weight.grad = m.weight.grad * 1
        m.zero_grad(set_to_none=False)
        return [m.weight.grad, m.weight.grad.requires_grad, m.weight.grad.grad_fn is None]

    fresh = t.nn.Linear(2, 1)
    fresh.zero_grad()
    return [after(), after(set_to_none=True), after(set_to_none=False), fresh.weight.grad, with_history()]


# ---- casts and moves


def types(m):
    return [[str(p.dtype) for p in m.parameters()], [str(b.dtype) for b in m.buffers()], [p.requires_grad for p in m.parameters()],
            [str(p.device) for p in m.parameters()]]


@programs
def casts(t):
    def cast(change):
        m = net(t)
        held = m.first.scale
        result = change(m)
        return [result is m, held is m.first.scale, types(m)]

    return [cast(lambda m: m.double()), cast(lambda m: m.float()), cast(lambda m: m.half()), cast(lambda m: m.bfloat16()),
            cast(lambda m: m.type(t.float64)), cast(lambda m: m.type("torch.DoubleTensor")), cast(lambda m: m.cpu()),
            cast(lambda m: m.half().float())]


@programs
def every_form_of_to(t):
    other = t.ones(1, dtype=t.float64)
    forms = [
        lambda m: m.to("cpu"), lambda m: m.to(t.device("cpu")), lambda m: m.to(device="cpu"), lambda m: m.to(t.float64),
        lambda m: m.to(dtype=t.float64), lambda m: m.to("cpu", t.float64), lambda m: m.to("cpu", dtype=t.float64),
        lambda m: m.to(t.device("cpu"), t.float16, True), lambda m: m.to(device="cpu", dtype=t.float64, non_blocking=True),
        lambda m: m.to(other), lambda m: m.to(other, non_blocking=True), lambda m: m.to(tensor=other), lambda m: m.to(t.float64, True),
        lambda m: m.to(t.bfloat16), lambda m: m.to("meta"), lambda m: m.to(memory_format=t.channels_last), lambda m: m.to(None),
        lambda m: m.to(device=None), lambda m: m.to("cpu", t.float64, memory_format=t.contiguous_format), lambda m: m.to(),
        lambda m: m.to("cpu", None), lambda m: m.to(dtype=None), lambda m: m.to(t.float64, copy=True), lambda m: m.to("cpu", None, False, True),
        lambda m: m.to(float), lambda m: m.to("cpu", float), lambda m: m.to(dtype=complex), lambda m: m.to(t.float64, copy=False),
    ]
    results = []
    for form in forms:
        m = net(t)
        error = raised(lambda: form(m))
        results.append([error, types(m)])
    return results


@programs
def to_refuses(t):
    forms = [lambda m: m.to(t.int64), lambda m: m.to(dtype=t.bool), lambda m: m.to("nowhere"),
             lambda m: m.to(t.float64, t.float64), lambda m: m.to("cpu", "cpu"), lambda m: m.to(t.float64, "cpu"),
             lambda m: m.to(unknown=1), lambda m: m.to(dtype="float32"), lambda m: m.to([1]), lambda m: m.to(t.ones(1, dtype=t.int64)),
             lambda m: m.to(memory_format="channels_last"), lambda m: m.to(t.channels_last), lambda m: m.to(memory_format=3),
             lambda m: m.to("cpu", t.float64, False, False, False), lambda m: m.to(t.float64, device="cpu"), lambda m: m.to(True),
             lambda m: m.to("cpu", device="cpu"), lambda m: m.to(t.float64, dtype=t.float64), lambda m: m.to(other=t.ones(1)),
             lambda m: m.to(device=3.5), lambda m: m.to(non_blocking=True), lambda m: m.to(int), lambda m: m.to(dtype=bool),
             lambda m: m.to(list), lambda m: m.to(t.nn.Linear)]
    return [raised(lambda: form(net(t))) for form in forms]


@programs
def complex_parameters(t):
    m = t.nn.Module()
    m.c = t.nn.Parameter(t.ones(2, dtype=t.complex64))
    m.f = t.nn.Parameter(t.ones(2))
    m.register_buffer("i", t.tensor([1]))
    double = types(m.double())
    with_dtype = types(m.to(t.complex128))
    return [double, with_dtype]


@programs
def channels_last(t):
    m = t.nn.Module()
    m.w = t.nn.Parameter(t.arange(16.0).reshape(1, 4, 2, 2))
    m.b = t.nn.Parameter(t.ones(4))
    m.w.grad = t.ones(1, 4, 2, 2)
    held = m.w
    m.to(memory_format=t.channels_last)
    first = [held is m.w, list(m.w.stride()), list(m.b.stride()), m.w.is_contiguous(memory_format=t.channels_last), m.w]
    m.register_buffer("volume", t.ones(1, 2, 2, 2, 2))
    return [first, list(m.to(memory_format=t.contiguous_format).w.stride()), raised(lambda: m.to(memory_format=t.channels_last))]


@programs
def gradients_move_along(t):
    m = t.nn.Linear(2, 1)
    m.weight.data.fill_(1.0)
    m(t.ones(2)).sum().backward()
    m.double()
    return [m.weight.grad, m.weight.grad.dtype == t.float64, m.weight.grad.requires_grad, m.weight.is_leaf,
            m(t.ones(2, dtype=t.float64)).sum().backward(), m.weight.grad]


@programs
def shared_parameters_stay_shared(t):
    m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 2))
    m[1].weight = m[0].weight
    m.double().half().to(t.float32)
    return [m[1].weight is m[0].weight, str(m[0].weight.dtype)]


@programs
def to_does_not_copy_what_fits(t):
    m = net(t)
    before = [x.data_ptr() for x in (*m.parameters(), *m.buffers())]
    m.to(t.float32).to("cpu").float().cpu()
    return before == [x.data_ptr() for x in (*m.parameters(), *m.buffers())]


@programs
def custom_apply(t):
    m, seen = net(t), []

    def note(x):
        seen.append([list(x.shape), x.requires_grad])
        return x

    result = m._apply(note)
    count = len(seen)
    m._apply(note, recurse=False)
    return [result is m, seen, count]


@programs
def apply_of_a_function_that_changes_shapes(t):
    m = t.nn.Linear(2, 3)
    m.weight.grad = t.zeros(3, 2)
    held = m.weight
    m._apply(lambda x: x.reshape(-1)[:2])
    return [list(m.weight.shape), held is m.weight, list(m.weight.grad.shape), list(m.bias.shape)]


@programs
def to_empty(t):
    m = net(t)
    result = m.to_empty(device="cpu")
    shapes = [list(p.shape) for p in m.parameters()]
    m.to("meta")
    on_meta = types(m)
    m.to_empty(device="cpu")
    sub = net(t)
    sub.to_empty(device="meta", recurse=False)
    return [result is m, shapes, on_meta, types(m), [str(p.device) for p in sub.parameters()], str(sub.steps.device),
            raised(lambda: m.to_empty()), raised(lambda: m.to_empty("cpu"))]


@programs
def meta_modules(t):
    with t.device("meta"):
        m = net(t)
    return [types(m), [str(b.device) for b in m.buffers()], raised(lambda: m.to("cpu")), raised(lambda: m.cpu())]


@programs
def share_memory(t):
    m = t.nn.Linear(1, 1)
    return [m.share_memory() is m, m.weight.is_shared()]


@programs
def devices_that_are_not_there(t):
    m = t.nn.Linear(1, 1)
    return [raised(lambda: m.xpu()) != "nothing", raised(lambda: m.mtia()) != "nothing", raised(lambda: m.ipu()) != "nothing",
            raised(lambda: m.xpu(0)) != "nothing"]


# ---- copies and pickles


@programs
def deepcopy(t):
    m = net(t)
    m.first.scale.grad = t.ones(2)
    m.eval()
    m.note = [1, [2]]
    c = copy.deepcopy(m)
    c.first.scale.data.fill_(5.0)
    c.note[1].append(3)
    return [repr(c) == repr(m), tables(c.first) == tables(m.first), c.first.linear is c.second.linear,
            c.first.linear is m.first.linear, m.first.scale, c.first.scale, c.first.scale.grad, c.training, m.note,
            [n for n, _ in c.named_parameters()], c.first.cache is m.first.cache, c.first.scale.requires_grad]


@programs
def shallow_copy(t):
    m = net(t)
    c = copy.copy(m)
    c.extra = t.nn.ReLU()
    return [c.first is m.first, c._modules is m._modules, "extra" in m._modules]


@programs
def getstate_and_setstate(t):
    m = t.nn.Linear(1, 1)
    state = dict(m.__dict__)
    old = t.nn.Linear.__new__(t.nn.Linear)
    for name in ("_forward_pre_hooks", "_state_dict_hooks", "_load_state_dict_pre_hooks", "_non_persistent_buffers_set"):
        state.pop(name, None)
    old.__setstate__(state)
    return [tables(old), old(t.ones(1)).shape == (1,), len(old._forward_pre_hooks), old.weight is m.weight]


@programs
def a_getstate_that_leaves_out_what_it_cannot_pickle(t):
    class Busy(t.nn.Linear):
        def __init__(self):
            super().__init__(1, 1)
            self.connection = 3

        def __getstate__(self):
            state = super().__getstate__()
            del state["connection"]
            return state

    busy = Busy()
    return [hasattr(copy.deepcopy(busy), "connection"), busy.connection]


@programs
def slots(t):
    class Slotted(t.nn.Module):
        __slots__ = ("number",)

        def __init__(self):
            super().__init__()
            self.number = 1
            self.weight = t.nn.Parameter(t.ones(1))

    slotted = Slotted()
    return [slotted.number, list(slotted._parameters), list(copy.deepcopy(slotted).state_dict())]


@programs
def modules_that_cannot_be_hashed(t):
    @dataclasses.dataclass
    class Sized(t.nn.Module):
        size: int

        def __post_init__(self):
            super().__init__()
            self.linear = t.nn.Linear(self.size, 1)

    sized = Sized(2)
    return [raised(lambda: list(sized.parameters())), list(sized.state_dict()), list(t.nn.Sequential(sized).state_dict())]


@programs
def modules_that_are_equal(t):
    """What is equal counts once, even if it is not the same."""
    class Alike(t.nn.Module):
        def __eq__(self, other):
            return isinstance(other, Alike)

        def __hash__(self):
            return 1

    pair = t.nn.Sequential(Alike(), Alike())
    return [[n for n, _ in pair.named_modules()], len(list(pair.children())), len(pair)]


# ---- repr


@programs
def reprs(t):
    nn = t.nn

    class Spoken(nn.Module):
        def __init__(self, text, *children):
            super().__init__()
            self.text = text
            for i, child in enumerate(children):
                self.add_module(f"child{i}", child)

        def extra_repr(self):
            return self.text

    inner = Spoken("one line")
    return [repr(nn.Module()), repr(net(t)), repr(Spoken("")), repr(inner), repr(Spoken("two\nlines")),
            repr(Spoken("one", inner)), repr(Spoken("two\nlines", Spoken("more\nlines", inner), None)), repr(Spoken("", inner)),
            str(inner), f"{inner}", repr(nn.Sequential(OrderedDict(a=inner, b=Spoken("x\ny"))))]


@programs
def get_name_may_be_overridden(t):
    class Called(t.nn.Linear):
        def _get_name(self):
            return "Other"

    return repr(Called(1, 2))


@programs
def settings_that_are_equal_to_the_defaults_are_not_shown(t):
    conv, lstm = t.nn.Conv2d(4, 4, 3, groups=np.int64(1)), t.nn.LSTM(2, 2)
    first = repr(conv)
    conv.padding, conv.dilation = t.Size([0, 0]), (True, True)
    lstm.num_layers, lstm.dropout, lstm.bias, lstm.batch_first = 1.0, 0, 1, 0  # flags are compared by identity
    return [first, repr(conv), repr(lstm)]


@programs
def modes_are_assigned(t):
    seen = []

    class Told(t.nn.Module):
        def __setattr__(self, name, value):
            seen.append([name, value])
            super().__setattr__(name, value)

    t.nn.Sequential(Told()).eval().train()
    return seen


@programs
def bases_with_keywords_of_classes(t):
    class Registered:
        def __init_subclass__(cls, mode=None, dims=None, ranks=None, function=None, becomes=None, **others):
            super().__init_subclass__(**others)
            cls.given = [mode, dims, ranks, function, becomes]

    class Conv(t.nn.Conv2d, Registered, mode="same", dims=3, function="f"):
        pass

    class Norm(t.nn.LazyBatchNorm1d, Registered, ranks=5, becomes="x"):
        pass

    norm = Norm()
    return [Conv.given, Norm.given, list(Conv(1, 2, 1)(t.ones(1, 1, 2, 2)).shape), list(norm(t.ones(2, 3)).shape), type(norm).__name__]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


class Child(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("seen", flambeau.zeros(1), persistent=False)

    def forward(self, x):
        return self.linear(x)


def test_pickle_keeps_everything():
    m = nn.Sequential(Child(), nn.ReLU())
    m.append(m[0])
    m[0].linear.bias.requires_grad_(False)
    m.eval()
    back = pickle.loads(pickle.dumps(m))
    assert repr(back) == repr(m)
    assert back[0] is back[2]
    assert not back.training
    assert not back[0].linear.bias.requires_grad
    assert list(back.state_dict()) == list(m.state_dict())
    x = flambeau.randn(3, 2)
    assert flambeau.equal(back(x), m(x))


def test_modules_are_freed_without_the_cycle_collector(no_cycle_collector):
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    m(flambeau.ones(1, 2)).sum().backward()
    m.state_dict()
    m.load_state_dict(m.state_dict())
    list(m.parameters())
    gone = weakref.ref(m[0])
    del m
    assert gone() is None


def test_what_a_subclass_may_call_its_own():
    """Names that PyTorch leaves free are free here too."""

    class Own(nn.Linear):
        def __init__(self):
            super().__init__(2, 2)
            for name in ("_hooks", "hooks", "_state", "_member", "_registered", "_where", "_walk", "_members"):
                setattr(self, name, None)

        def _save(self, *args):
            raise AssertionError("called by accident")

        walk = forget = _forget = _load = _register = _call = _replace = _cast = _convert = _own_hooks = _save

    m = Own()
    m.register_forward_hook(lambda *args: None)
    m(flambeau.ones(2)).sum().backward()
    m.load_state_dict(m.state_dict())
    m.to(flambeau.float64).train().zero_grad()
    m.weight = nn.Parameter(flambeau.ones(2, 2))
    assert "Own" in repr(m)
    assert list(dict(m.named_parameters())) == ["weight", "bias"]


def test_a_deep_tree():
    m = nn.Linear(1, 1)
    for _ in range(5000):
        m = nn.Sequential(m)
    assert len(list(m.modules())) == 5001
    assert next(iter(m.named_parameters()))[0].count("0.") == 5000
    gc.collect()


def test_compile_takes_the_settings_of_compile():
    with pytest.raises(TypeError, match="unexpected keyword"):
        nn.Linear(1, 1).compile(speed="high")


@pytest.mark.parametrize("given", [{"backend": "eager"}, {"disable": True}, {"backend": "eager", "fullgraph": True}])
def test_compile_that_compiles_nothing(given):
    net, x = nn.Linear(2, 1), flambeau.ones(1, 2)
    before = net(x).tolist()
    net.compile(**given)
    assert net(x).tolist() == before


def test_cuda_error_names_what_is_missing():
    """AssertionError as in a PyTorch built for the CPU; RuntimeError where there are GPUs, but fewer."""
    with pytest.raises((AssertionError, RuntimeError), match=r"flambeau\[xla\]|no device cuda:99"):
        nn.Linear(1, 1).cuda(99)
