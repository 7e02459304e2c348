"""Lazy modules, compared with PyTorch: before, during and after the first call; saved, loaded, copied."""
# ruff: noqa: B023  (the functions made in loops are called at once)

import copy
import pickle

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau import nn
from flambeau.nn.modules.lazy import LazyModuleMixin

programs = Programs("nn_lazy.json")


def lazy_class(t):
    """A lazy module with a parameter and a buffer whose shapes come from the input."""
    nn = t.nn

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(t.ones(0))
            self.register_buffer("mean", t.zeros(0))

        def forward(self, x, plus=0.0):
            return x * self.weight + self.mean + plus

    class LazyScale(nn.modules.lazy.LazyModuleMixin, Scale):
        cls_to_become = Scale

        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()
            self.register_buffer("mean", nn.UninitializedBuffer())

        def initialize_parameters(self, x, plus=0.0):
            if self.has_uninitialized_params():
                with t.no_grad():
                    self.weight.materialize(x.shape)
                    self.weight.fill_(2.0)
                    self.mean.materialize(x.shape)
                    self.mean.fill_(1.0)

    return LazyScale


@programs
def before_the_first_call(t):
    m = t.nn.LazyLinear(3)
    return [repr(m), type(m), type(m.weight).__name__, repr(m.weight), m.weight.requires_grad, m.weight.is_leaf, str(m.weight.dtype),
            str(m.weight.device), m.has_uninitialized_params(), list(m.state_dict()), len(list(m.parameters())), m.in_features, m.weight.grad,
            t.nn.parameter.is_lazy(m.weight), t.nn.parameter.is_lazy(t.ones(1)), isinstance(m.weight, t.nn.Parameter)]


@programs
def the_first_call(t):
    m = t.nn.LazyLinear(3)
    held = m.weight
    out = m(t.ones(5, 2))
    return [list(out.shape), repr(m), type(m), type(m.weight).__name__, held is m.weight, list(m.weight.shape), m.in_features,
            len(m._forward_pre_hooks), len(m._load_state_dict_pre_hooks), hasattr(m, "_initialize_hook"), isinstance(m, t.nn.Linear),
            raised(lambda: m(t.ones(5, 3)))]


@programs
def without_bias(t):
    m = t.nn.LazyLinear(3, bias=False)
    m(t.ones(1, 2))
    return [repr(m), m.bias, list(m.state_dict())]


@programs
def own_lazy_modules(t):
    m = lazy_class(t)()
    out = m(t.ones(2), plus=1.0)
    return [out, type(m), m.weight, m.mean, list(m._buffers), type(m.mean).__name__]


@programs
def own_lazy_modules_that_do_not_finish(t):
    class Half(lazy_class(t)):
        def initialize_parameters(self, x):
            self.weight.materialize(x.shape)

    class Nothing(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
        def forward(self, x):
            return x

    return [raised(lambda: Half()(t.ones(2))), raised(lambda: Nothing()(t.ones(1)))]


@programs
def without_a_class_to_become(t):
    class Stays(lazy_class(t)):
        cls_to_become = None

    m = Stays()
    first, second = m(t.ones(2)), m(t.ones(2))
    return [type(m), first, second, len(m._forward_pre_hooks)]


@programs
def uninitialized_parameters_refuse(t):
    p, b = t.nn.UninitializedParameter(), t.nn.UninitializedBuffer()
    tries = [lambda x: x + 1, lambda x: x.sum(), lambda x: x.shape, lambda x: x * x, lambda x: t.ones(1) + x, lambda x: x.numel(),
             lambda x: x[0], lambda x: x.clone(), lambda x: x.detach(), lambda x: x.dim(), lambda x: x.share_memory_(), lambda x: x.view(-1),
             lambda x: x.fill_(1.0), lambda x: x.tolist(), lambda x: len(x)]
    return [[raised(lambda: f(x)) for f in tries] for x in (p, b)]


@programs
def uninitialized_parameters_allow(t):
    p = t.nn.UninitializedParameter(requires_grad=False, dtype=t.float64)
    b = t.nn.UninitializedBuffer()
    return [p.requires_grad, str(p.dtype), str(b.dtype), b.requires_grad, b.persistent, p.is_floating_point(), p.is_complex(), repr(p), repr(b),
            isinstance(b, t.nn.Buffer), p is p, hash(p) == hash(p), str(t.nn.UninitializedParameter(device="meta").device)]


@programs
def materializing(t):
    p, b = t.nn.UninitializedParameter(requires_grad=False), t.nn.UninitializedBuffer()
    p.materialize((2, 3))
    b.materialize((4,), dtype=t.float64)
    return [type(p).__name__, list(p.shape), p.requires_grad, type(b).__name__, list(b.shape), str(b.dtype), t.nn.parameter.is_lazy(p)]


@programs
def casts_before_the_first_call(t):
    m = t.nn.LazyLinear(3).double()
    kind = type(m.weight).__name__
    m(t.ones(1, 2, dtype=t.float64))
    half = t.nn.LazyLinear(3, dtype=t.float16)
    back = half.to(t.float32)
    return [kind, str(m.weight.dtype), str(half.weight.dtype), back is half]


@programs
def training_mode_and_gradients_before_the_first_call(t):
    m = t.nn.Sequential(t.nn.LazyLinear(2))
    m.eval()
    m[0].weight.requires_grad = False
    m(t.ones(1, 1))
    m.zero_grad()
    return [m[0].weight.requires_grad, m[0].bias.requires_grad, m.training]


@programs
def loading_into_a_lazy_module(t):
    source = t.nn.Linear(4, 3)
    m = t.nn.LazyLinear(3)
    m.load_state_dict(source.state_dict())
    loaded = [type(m), list(m.weight.shape), bool((m.weight == source.weight).all()), m.in_features]
    out = m(t.ones(1, 4))
    return [loaded, list(out.shape), type(m), m.in_features, bool((m.weight == source.weight).all())]


@programs
def loading_a_lazy_state(t):
    lazy = t.nn.LazyLinear(3)
    state = lazy.state_dict()
    other = t.nn.LazyLinear(3)
    result = raised(lambda: other.load_state_dict(state))
    return [[type(v).__name__ for v in state.values()], result, type(other.weight).__name__, raised(lambda: t.nn.Linear(2, 3).load_state_dict(state))]


@programs
def loading_nested(t):
    made = t.nn.Sequential(t.nn.LazyLinear(3), t.nn.ReLU(), t.nn.LazyLinear(2))
    made(t.ones(1, 5))
    m = t.nn.Sequential(t.nn.LazyLinear(3), t.nn.ReLU(), t.nn.LazyLinear(2))
    result = m.load_state_dict(made.state_dict())
    return [repr(result), bool((m(t.ones(1, 5)) == made(t.ones(1, 5))).all()), repr(m) == repr(made)]


@programs
def loading_after_the_first_call(t):
    m, n = t.nn.LazyLinear(2), t.nn.Linear(3, 2)
    m(t.ones(1, 3))
    m.load_state_dict(n.state_dict())
    return [bool((m.weight == n.weight).all()), raised(lambda: m.load_state_dict(t.nn.Linear(4, 2).state_dict()))]


@programs
def deepcopies(t):
    m = t.nn.LazyLinear(3, dtype=t.float64)
    c = copy.deepcopy(m)
    c(t.ones(1, 2, dtype=t.float64))
    m(t.ones(1, 5, dtype=t.float64))
    return [repr(c), repr(m), type(c), str(c.weight.dtype), list(m.weight.shape)]


@programs
def deepcopies_load(t):
    c = copy.deepcopy(t.nn.LazyLinear(3))
    c.load_state_dict(t.nn.Linear(2, 3).state_dict())
    return [list(c.weight.shape), list(c(t.ones(1, 2)).shape)]


@programs
def functions_applied_before_the_first_call(t):
    m = t.nn.Sequential(t.nn.LazyLinear(3), t.nn.ReLU())
    seen = []
    m.apply(lambda c: seen.append(type(c)))
    return [seen, raised(lambda: m.share_memory()), repr(m), raised(lambda: m[0].reset_parameters()), warned(lambda: t.nn.LazyLinear(1))]


@programs
def the_order_of_hooks(t):
    m, seen = t.nn.LazyLinear(3), []
    m.register_forward_pre_hook(lambda mod, args: seen.append([type(mod), t.nn.parameter.is_lazy(mod.weight)]))
    m.register_forward_hook(lambda mod, args, out: seen.append(type(mod)))
    m(t.ones(1, 2))
    m(t.ones(1, 2))
    return seen


@programs
def replicas(t):
    return raised(lambda: t.nn.LazyLinear(1)._replicate_for_data_parallel())


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


def test_pickle_before_and_after_the_first_call():
    m = nn.Sequential(nn.LazyLinear(2, dtype=flambeau.float64))
    back = pickle.loads(pickle.dumps(m))
    assert back[0].has_uninitialized_params()
    assert back(flambeau.ones(1, 3, dtype=flambeau.float64)).shape == (1, 2)
    assert type(back[0]) is nn.Linear
    assert type(pickle.loads(pickle.dumps(back))[0]) is nn.Linear
    assert m[0].has_uninitialized_params()
    assert m(flambeau.ones(1, 4, dtype=flambeau.float64)).shape == (1, 2)


def test_moving_to_meta_keeps_the_laziness():
    """PyTorch makes an empty Parameter of it."""
    m = nn.LazyLinear(1).to("meta")
    assert str(m.weight.device) == "meta"
    assert m.has_uninitialized_params()
    assert str(m(flambeau.ones(1, 2, device="meta")).device) == "meta"


def test_messages_say_what_to_do():
    m = nn.LazyLinear(2)
    with pytest.raises(ValueError, match=r"uninitialized parameter: this UninitializedParameter has no shape yet.* call it once with a sample input"):
        m.weight + 1
    with pytest.raises(RuntimeError, match="shape of an UninitializedParameter"):
        m.weight.shape  # noqa: B018
    with pytest.raises(RuntimeError, match=r"LazyModule|lazy module that was never called"):
        nn.Linear(1, 1).load_state_dict(m.state_dict())


def test_initialize_parameters_must_be_defined():
    class Nothing(LazyModuleMixin, nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Nothing"):
        Nothing()(1)


def test_snapshot_of_a_lazy_module():
    assert list(nn.LazyLinear(2).snapshot()) == ["weight", "bias"]
