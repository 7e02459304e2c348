"""Parametrizations, compared with PyTorch: computing, setting, removing, caching, saving."""


import copy
import pickle

import pytest

import flambeau
from _programs import Programs, raised
from flambeau import nn
from flambeau.nn.utils import parametrize

programs = Programs("nn_parametrize.json")


def register(t, *args, **kwargs):
    return t.nn.utils.parametrize.register_parametrization(*args, **kwargs)


def ones_linear(t):
    linear = t.nn.Linear(2, 2)
    with t.no_grad():
        linear.weight.copy_(t.tensor([[1.0, 2.0], [3.0, 4.0]]))
        linear.bias.zero_()
    return linear


def classes(t):
    """Symmetric without an inverse, Doubled with one, Split with two originals."""

    class Symmetric(t.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    class Doubled(t.nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            return x / 2

    class Split(t.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x * 0.25, x * 0.75

    return Symmetric(), Doubled(), Split()


def names(m):
    return [[n for n, _ in m.named_parameters()], [n for n, _ in m.named_modules()], list(m.state_dict()), type(m).__name__]


@programs
def one_parametrization(t):
    m, (symmetric, _, _) = ones_linear(t), classes(t)
    held = m.weight
    result = register(t, m, "weight", symmetric)
    first = [result is m, m.weight, names(m), repr(m), m.parametrizations.weight.original is held, type(m.weight).__name__, m.weight is m.weight]
    m(t.ones(2)).sum().backward()
    return [first, held.grad, m.bias.grad, m.weight.requires_grad, m.weight.is_leaf, isinstance(m, t.nn.Linear)]


@programs
def with_a_right_inverse(t):
    m, (_, doubled, _) = ones_linear(t), classes(t)
    register(t, m, "weight", doubled)
    first = [m.weight, m.parametrizations.weight.original]
    m.weight = t.full((2, 2), 8.0)
    return [first, m.weight, m.parametrizations.weight.original, type(m.parametrizations.weight.original).__name__]


@programs
def without_a_right_inverse(t):
    m, (symmetric, _, _) = ones_linear(t), classes(t)
    register(t, m, "weight", symmetric)

    def assign():
        m.weight = t.ones(2, 2)

    return [raised(assign), m.weight]


@programs
def a_chain(t):
    m, (symmetric, doubled, _) = ones_linear(t), classes(t)
    register(t, m, "weight", symmetric)
    register(t, m, "weight", doubled)
    register(t, m, "bias", doubled)
    first = [m.weight, names(m), len(m.parametrizations.weight), repr(m)]
    m.bias = t.ones(2)
    return [first, m.bias, m.parametrizations.bias.original]


@programs
def a_chain_without_an_inverse_for_now(t):
    class Fixed(type(classes(t)[0])):
        def right_inverse(self, x):
            raise NotImplementedError("not for these settings")

    m, (_, doubled, _) = ones_linear(t), classes(t)
    register(t, m, "weight", doubled)
    register(t, m, "weight", Fixed())

    def assign():
        m.weight = t.ones(2, 2)

    return [m.weight, len(m.parametrizations.weight), raised(assign)]


@programs
def several_originals(t):
    m, (_, doubled, split) = ones_linear(t), classes(t)
    register(t, m, "weight", split)
    first = [m.weight, names(m), m.parametrizations.weight.original0, type(m.parametrizations.weight.original1).__name__, m.parametrizations.weight.ntensors,
             m.parametrizations.weight.is_tensor]
    m(t.ones(2)).sum().backward()
    register(t, m, "weight", doubled)
    m.weight = t.full((2, 2), 8.0)
    return [first, m.parametrizations.weight.original0.grad, m.weight, m.parametrizations.weight.original0, m.parametrizations.weight.original1]


@programs
def a_buffer(t):
    m, (_, doubled, _) = t.nn.Module(), classes(t)
    m.register_buffer("b", t.ones(2))
    register(t, m, "b", doubled)
    return [m.b, names(m), [n for n, _ in m.named_buffers()]]


@programs
def removal(t):
    def removed(which, leave, name="weight"):
        m = ones_linear(t)
        held = m.weight
        for i in which:
            register(t, m, name, classes(t)[i])
        m_or_error = raised(lambda: t.nn.utils.parametrize.remove_parametrizations(m, name, leave_parametrized=leave))
        return [m_or_error, type(m).__name__, names(m), getattr(m, name), type(getattr(m, name)).__name__, held is m.weight, getattr(m, name).requires_grad]

    return [removed([0], True), removed([0], False), removed([1], True), removed([1], False), removed([0, 1], True), removed([2], True),
            removed([2], False), removed([1], True, "bias")]


@programs
def removal_of_one_of_two(t):
    m, (symmetric, doubled, _) = ones_linear(t), classes(t)
    register(t, m, "weight", symmetric)
    register(t, m, "bias", doubled)
    t.nn.utils.parametrize.remove_parametrizations(m, "weight")
    first = names(m)
    t.nn.utils.parametrize.remove_parametrizations(m, "bias")
    return [first, names(m), type(m) is t.nn.Linear, raised(lambda: t.nn.utils.parametrize.remove_parametrizations(m, "bias"))]


@programs
def questions(t):
    p = t.nn.utils.parametrize
    m, (symmetric, _, _) = ones_linear(t), classes(t)
    before = [p.is_parametrized(m), p.is_parametrized(m, "weight"), p.type_before_parametrizations(m)]
    register(t, m, "weight", symmetric)
    return [before, p.is_parametrized(m), p.is_parametrized(m, "weight"), p.is_parametrized(m, "bias"), p.type_before_parametrizations(m),
            p.is_parametrized(t.nn.Sequential(m))]


@programs
def refused(t):
    class Wrong(t.nn.Module):
        def __init__(self, forward, inverse=None):
            super().__init__()
            self.change = forward
            if inverse is not None:
                self.right_inverse = inverse

        def forward(self, *x):
            return self.change(*x)

    def tried(*args, unsafe=False, name="weight"):
        m = ones_linear(t)
        error = raised(lambda: register(t, m, name, Wrong(*args), unsafe=unsafe))
        return [error, type(m).__name__, names(m), type(m.weight).__name__]

    same = lambda x: x  # noqa: E731
    return [tried(lambda x: x.double()), tried(lambda x: x[0]), tried(lambda x: 3), tried(lambda x: x[0], unsafe=True), tried(same, lambda x: x.double()),
            tried(same, lambda x: 3), tried(same, lambda x: (x, 3)), tried(lambda a, b: a, lambda x: (x, x)), tried(same, name="nope"), tried(same, name="forward"),
            tried(same, lambda x: x[0]), tried(lambda x: x.reshape(2, 2), lambda x: x.reshape(4)), tried(lambda a: a[0], unsafe=True)]


@programs
def refused_in_a_chain(t):
    class Wrong(t.nn.Module):
        def __init__(self, forward):
            super().__init__()
            self.change = forward

        def forward(self, x):
            return self.change(x)

    def tried(change, unsafe=False):
        m, (symmetric, _, _) = ones_linear(t), classes(t)
        register(t, m, "weight", symmetric)
        return [raised(lambda: register(t, m, "weight", Wrong(change), unsafe=unsafe)), len(m.parametrizations.weight)]

    return [tried(lambda x: x.double()), tried(lambda x: x[0]), tried(lambda x: 3), tried(lambda x: x + 1), tried(lambda x: x[0], unsafe=True)]


@programs
def caching(t):
    calls = []

    class Counted(t.nn.Module):
        def forward(self, x):
            calls.append(1)
            return x + 1

    p = t.nn.utils.parametrize
    m = ones_linear(t)
    register(t, m, "weight", Counted())
    register(t, m, "bias", Counted())
    calls.clear()
    m.weight, m.weight  # noqa: B018
    plain = len(calls)
    with p.cached():
        a, b = m.weight, m.weight
        with p.cached():
            c = m.weight
        d = m.weight
        m.bias  # noqa: B018
        inside = len(calls) - plain
        other = ones_linear(t)
        register(t, other, "weight", Counted())
        e = other.weight
    after = m.weight
    return [plain, inside, a is b, a is c, a is d, e is a, after is a]


@programs
def caching_ends_with_an_error(t):
    p = t.nn.utils.parametrize
    m, (symmetric, _, _) = ones_linear(t), classes(t)
    register(t, m, "weight", symmetric)

    def fails():
        with p.cached():
            m.weight  # noqa: B018
            raise ValueError

    return [raised(fails), m.weight is m.weight]


@programs
def modes_and_moves(t):
    m, (symmetric, _, _) = ones_linear(t), classes(t)
    m.eval()
    register(t, m, "weight", symmetric)
    training = [c.training for c in m.modules()]
    m.double()
    return [training, str(m.weight.dtype), [c.training for c in m.train().modules()], str(m.parametrizations.weight.original.dtype)]


@programs
def copies(t):
    m, (symmetric, _, _) = ones_linear(t), classes(t)
    register(t, m, "weight", symmetric)
    c = copy.deepcopy(m)
    with t.no_grad():
        c.parametrizations.weight.original.fill_(9.0)
    return [m.weight, c.weight, names(c), raised(lambda: pickle.dumps(m)), type(c) is type(m)]


@programs
def saving_and_loading(t):
    m, n = ones_linear(t), ones_linear(t)
    for x in (m, n):
        register(t, x, "weight", classes(t)[0])
    with t.no_grad():
        m.parametrizations.weight.original.fill_(5.0)
    n.load_state_dict(m.state_dict())
    return [n.weight, list(n.state_dict()), raised(lambda: ones_linear(t).load_state_dict(m.state_dict()))]


@programs
def transfer(t):
    p = t.nn.utils.parametrize
    m, n, (_, doubled, _) = ones_linear(t), ones_linear(t), classes(t)
    register(t, m, "weight", doubled)
    register(t, m, "bias", doubled)
    with t.no_grad():
        m.parametrizations.weight.original.fill_(5.0)
    only = p.transfer_parametrizations_and_params(m, ones_linear(t), "weight")
    p.transfer_parametrizations_and_params(m, n)
    plain = p.transfer_parametrizations_and_params(ones_linear(t), ones_linear(t))
    return [names(n), n.weight, n.parametrizations.weight.original, names(only), names(plain), raised(lambda: p.transfer_parametrizations_and_params(m, t.nn.ReLU()))]


@programs
def parametrized_twice_by_the_same_module(t):
    (_, doubled, _) = classes(t)
    m, n = ones_linear(t), ones_linear(t)
    register(t, m, "weight", doubled)
    register(t, n, "weight", doubled)
    return [m.weight, n.weight, type(m) is type(n)]


@programs
def parameters_in_a_parametrization(t):
    class Scaled(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = t.nn.Parameter(t.full((1,), 3.0))

        def forward(self, x):
            return x * self.scale

    m = ones_linear(t)
    register(t, m, "weight", Scaled())
    m(t.ones(2)).sum().backward()
    return [names(m), m.parametrizations.weight[0].scale.grad, m.parametrizations.weight.original.grad]


@programs
def an_empty_list(t):
    return [raised(lambda: t.nn.utils.parametrize.ParametrizationList([], t.ones(1)))]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


def test_errors_name_the_shapes():
    class Row(nn.Module):
        def forward(self, x):
            return x[0]

    with pytest.raises(ValueError, match=r"may not change the shape.*\n.*torch.Size\(\[2, 3\]\)\n.*torch.Size\(\[3\]\)"):
        parametrize.register_parametrization(nn.Linear(3, 2), "weight", Row())


def test_a_parametrized_module_trains():
    class Positive(nn.Module):
        def forward(self, x):
            return x.exp()

    m = nn.Linear(1, 1, bias=False)
    parametrize.register_parametrization(m, "weight", Positive())
    for _ in range(50):
        m.zero_grad()
        (m(flambeau.ones(1, 1)) - 3.0).pow(2).sum().backward()
        with flambeau.no_grad():
            for p in m.parameters():
                p -= 0.05 * p.grad
    assert abs(m.weight.item() - 3.0) < 0.01
