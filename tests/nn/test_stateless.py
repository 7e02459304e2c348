"""functional_call and skip_init, compared with PyTorch."""
# ruff: noqa: B023  (the functions made in loops are called at once)

import pytest

import flambeau
from _programs import Programs, raised
from flambeau import nn

programs = Programs("nn_stateless.json")


def call(t, *args, **kwargs):
    return t.func.functional_call(*args, **kwargs)


def net(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = t.nn.Linear(2, 1)
            self.register_buffer("scale", t.ones(1))
            self.register_buffer("cache", t.zeros(1), persistent=False)
            self.count = 0

        def forward(self, x, plus=0.0):
            self.count += 1
            return self.linear(x) * self.scale + self.cache + plus

    m = Net()
    with t.no_grad():
        for p in m.parameters():
            p.fill_(1.0)
    return m


@programs
def other_parameters(t):
    m, x = net(t), t.ones(1, 2)
    weight = t.full((1, 2), 5.0, requires_grad=True)
    out = call(t, m, {"linear.weight": weight}, x)
    out.sum().backward()
    return [out, m(x), weight.grad, m.linear.weight.grad, m.linear.weight, m.count]


@programs
def arguments(t):
    m, x = net(t), t.ones(1, 2)
    return [call(t, m, {}, x), call(t, m, {}, (x,)), call(t, m, {}, (x, 2.0)), call(t, m, {}, x, {"plus": 3.0}), call(t, m, {}, (), {"x": x}),
            call(t, m, {}, kwargs={"x": x}), call(t, m, {"scale": t.full((1,), 2.0), "cache": t.ones(1)}, x), raised(lambda: call(t, m, {})),
            raised(lambda: call(t, m, {}, [x])), call(t, m, {"linear.bias": t.zeros(1)}, args=(x,))]


@programs
def several_dicts(t):
    m, x = net(t), t.ones(1, 2)
    return [call(t, m, ({"linear.weight": t.zeros(1, 2)}, {"scale": t.zeros(1)}), x), call(t, m, [{}, {}], x),
            raised(lambda: call(t, m, ({"scale": t.ones(1)}, {"scale": t.ones(1)}), x)), raised(lambda: call(t, m, 3, x)),
            raised(lambda: call(t, m, "ab", x)), raised(lambda: call(t, m, ({}, 3), x))]


@programs
def wrong_names_and_values(t):
    m, x = net(t), t.ones(1, 2)
    results = [raised(lambda: call(t, m, d, x)) for d in ({"nope": t.ones(1)}, {"linear.nope": t.ones(1)}, {"nope.weight": t.ones(1)},
                                                          {"linear": t.ones(1)}, {"linear.weight": 3}, {"count": t.ones(1)},
                                                          {"": t.ones(1)}, {"linear.": t.ones(1)})]
    return [results, m(x), m.linear.weight, raised(lambda: call(t, m, {"linear.weight": t.ones(3, 3)}, x)), m(x)]


@programs
def strict(t):
    m, x = net(t), t.ones(1, 2)
    full = {**dict(m.named_parameters()), **dict(m.named_buffers())}
    return [call(t, m, full, x, strict=True), raised(lambda: call(t, m, dict(m.named_parameters()), x, strict=True)),
            raised(lambda: call(t, m, {**full, "more": t.ones(1)}, x, strict=True))]


@programs
def errors_leave_the_module_as_it_was(t):
    m = net(t)

    def bad(*args):
        raise ValueError

    m.register_forward_pre_hook(bad)
    held = m.linear.weight
    failed = raised(lambda: call(t, m, {"linear.weight": t.zeros(1, 2)}, t.ones(1, 2)))
    return [failed, m.linear.weight is held, list(m._parameters), [n for n, _ in m.named_parameters()]]


@programs
def tied_weights(t):
    class Tied(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = t.nn.Parameter(t.ones(1))
            self.b = self.a
            self.register_buffer("c", t.ones(1))
            self.register_buffer("d", self.c)

        def forward(self, x):
            return x * self.a + self.b * 10 + self.c * 100 + self.d * 1000

    m, x, two, three = Tied(), t.ones(1), t.full((1,), 2.0), t.full((1,), 3.0)
    return [call(t, m, {"a": two}, x), call(t, m, {"b": two}, x), call(t, m, {"a": two}, x, tie_weights=False), call(t, m, {"a": two, "b": two}, x),
            raised(lambda: call(t, m, {"a": two, "b": three}, x)), call(t, m, {"a": two, "b": three}, x, tie_weights=False),
            call(t, m, {"c": two}, x), m(x), call(t, m, {"a": two, "c": two}, x, strict=True), m.a is m.b]


@programs
def shared_modules(t):
    linear = t.nn.Linear(1, 1)
    with t.no_grad():
        linear.weight.fill_(1.0)
        linear.bias.fill_(0.0)
    m, x = t.nn.Sequential(linear, linear), t.ones(1, 1)
    two = t.full((1, 1), 2.0)
    return [call(t, m, {"0.weight": two}, x), call(t, m, {"1.weight": two}, x)]


@programs
def buffers_written_to(t):
    class Counter(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", t.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return x + self.n

    class Replaced(Counter):
        def forward(self, x):
            self.n = self.n + 1
            return x + self.n

    results = []
    for cls in (Counter, Replaced):
        m, given = cls(), {"n": t.full((1,), 5.0)}
        held = given["n"]
        results += [call(t, m, given, t.zeros(1)), held, given["n"] is held, given["n"], m.n]
    return results


@programs
def gradients_by_functional_call(t):
    m = net(t)
    x = t.ones(3, 2)
    params = {k: v.detach().clone().requires_grad_() for k, v in m.named_parameters()}
    grads = t.autograd.grad(call(t, m, params, x).pow(2).sum(), list(params.values()), create_graph=True)
    second = t.autograd.grad(grads[0].sum(), list(params.values()))
    return [grads, second]


@programs
def the_older_name(t):
    m, x = net(t), t.ones(1, 2)
    return [t.nn.utils.stateless.functional_call(m, {"scale": t.zeros(1)}, x)]


@programs
def skip_init(t):
    skip = t.nn.utils.skip_init

    class NoDevice(t.nn.Module):
        pass

    m = skip(t.nn.Linear, 3, 2, bias=False, dtype=t.float64)
    on_meta = skip(t.nn.Linear, 3, 2, device="meta")
    return [repr(m), str(m.weight.dtype), str(m.weight.device), m.weight.requires_grad, str(on_meta.weight.device), raised(lambda: skip(NoDevice)),
            raised(lambda: skip(int)), raised(lambda: skip(t.nn.Linear))]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


def test_the_older_name_is_deprecated_in_pytorch_only():
    m = nn.Linear(1, 1, bias=False)
    out = flambeau.nn.utils.stateless.functional_call(m, {"weight": flambeau.full((1, 1), 3.0)}, flambeau.ones(1))
    assert out.tolist() == [3.0]


def test_shared_modules_are_restored():
    """PyTorch leaves the given tensor in a module that is reached by two paths."""
    linear = nn.Linear(1, 1)
    held, m = linear.weight, nn.Sequential(linear, linear)
    flambeau.func.functional_call(m, {"0.weight": flambeau.ones(1, 1)}, flambeau.ones(1, 1))
    assert linear.weight is held


def test_a_missing_module_is_named():
    with pytest.raises(AttributeError, match="Linear has no attribute `nope`"):
        flambeau.func.functional_call(nn.Linear(1, 1), {"nope.weight": flambeau.ones(1)}, flambeau.ones(1))
