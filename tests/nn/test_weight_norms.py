"""Weight, spectral and orthogonal normalization, by hooks and by parametrizations, compared with PyTorch."""

import copy
import pickle
import warnings

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau import nn
from flambeau.autograd import gradcheck

programs = Programs("nn_weight_norms.json")


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return function(*args, **kwargs)


def seeded(t, make):
    t.manual_seed(5)
    return make()


def layers(t):
    return [lambda: t.nn.Linear(3, 2), lambda: t.nn.Conv2d(2, 3, 2), lambda: t.nn.ConvTranspose1d(2, 3, 4)]


def state(m):
    return [list(m.state_dict()), list(m.state_dict().values()), [n for n, _ in m.named_parameters()]]


def inputs(t, m):
    shape = {"Linear": (4, 3), "Conv2d": (1, 2, 4, 4), "ConvTranspose1d": (1, 2, 5)}
    name = type(m).__name__.removeprefix("Parametrized")
    return t.linspace(-1, 1, t.Size(shape[name]).numel()).reshape(shape[name])


def trained(t, m):
    """The output, the gradients and the state after a call in training, and the output in eval mode."""
    x = inputs(t, m)
    out = m(x)
    (out * t.arange(out.numel()).reshape(out.shape)).sum().backward()
    grads = [p.grad for p in m.parameters()]
    m.eval()
    return [out, grads, state(m), m(x)]


@programs
def weight_norm_by_a_hook(t):
    norm = t.nn.utils.weight_norm
    return [[repr(m), state(m), trained(t, m), len(m._forward_pre_hooks)]
            for make in layers(t) for dim in (0, 1, -2, None) for m in [quiet(norm, seeded(t, make), dim=dim)]]


@programs
def weight_norm_by_a_parametrization(t):
    norm = t.nn.utils.parametrizations.weight_norm
    return [[repr(m), state(m), trained(t, m)]
            for make in layers(t) for dim in (0, 1, -2, None) for m in [norm(seeded(t, make), dim=dim)]]


@programs
def weight_norm_of_other_tensors(t):
    u = t.nn.utils
    lstm = quiet(u.weight_norm, seeded(t, lambda: t.nn.LSTM(3, 2)), "weight_ih_l0")
    parametrized = u.parametrizations.weight_norm(seeded(t, lambda: t.nn.LSTM(3, 2)), "weight_ih_l0")
    bias = quiet(u.weight_norm, seeded(t, lambda: t.nn.Linear(3, 2)), "bias")
    x = t.linspace(-1, 1, 12).reshape(4, 3)
    return [state(lstm), lstm(x)[0], state(parametrized), parametrized(x)[0], state(bias), bias(x)]


@programs
def weight_norm_is_removed(t):
    m = quiet(t.nn.utils.weight_norm, seeded(t, lambda: t.nn.Linear(3, 2)))
    with t.no_grad():
        m.weight_g.mul_(2)
    t.nn.utils.remove_weight_norm(m)
    p = t.nn.utils.parametrizations.weight_norm(seeded(t, lambda: t.nn.Linear(3, 2)))
    t.nn.utils.parametrize.remove_parametrizations(p, "weight")
    return [state(m), len(m._forward_pre_hooks), type(m.weight).__name__, raised(lambda: t.nn.utils.remove_weight_norm(m)), state(p), repr(p)]


@programs
def weight_norm_refuses(t):
    norm = t.nn.utils.weight_norm
    m = quiet(norm, t.nn.Linear(3, 2))
    return [warned(lambda: norm(t.nn.Linear(3, 2))), raised(lambda: norm(m)), raised(lambda: norm(t.nn.Linear(3, 2), "nope")),
            raised(lambda: norm(t.nn.Linear(3, 2), dim=2)), raised(lambda: norm(t.nn.LazyLinear(2))),
            raised(lambda: t.nn.utils.parametrizations.weight_norm(t.nn.Linear(3, 2), "nope"))]


@programs
def older_state_dicts(t):
    saved = quiet(t.nn.utils.weight_norm, seeded(t, lambda: t.nn.Linear(3, 2))).state_dict()
    m = t.nn.Sequential(t.nn.utils.parametrizations.weight_norm(t.nn.Linear(3, 2)))
    loaded = m.load_state_dict({f"0.{k}": v for k, v in saved.items()})
    return [str(loaded), state(m)]


@programs
def spectral_norm_by_a_hook(t):
    norm = t.nn.utils.spectral_norm
    return [[repr(m), state(m), m.weight, trained(t, m), [len(m._forward_pre_hooks), len(m._state_dict_hooks)]]
            for make in layers(t) for kwargs in ({}, {"n_power_iterations": 3}, {"dim": 1}) for m in [norm(seeded(t, make), **kwargs)]]


@programs
def spectral_norm_by_a_parametrization(t):
    norm = t.nn.utils.parametrizations.spectral_norm
    return [[repr(m), state(m), trained(t, m)]
            for make in layers(t) for kwargs in ({}, {"n_power_iterations": 3}, {"dim": 1}, {"dim": -1}) for m in [norm(seeded(t, make), **kwargs)]]


@programs
def spectral_norm_of_a_vector(t):
    hook = t.nn.utils.spectral_norm(seeded(t, lambda: t.nn.Linear(3, 2)), "bias")
    m = t.nn.utils.parametrizations.spectral_norm(seeded(t, lambda: t.nn.Linear(3, 2)), "bias")
    m.bias = t.tensor([3.0, 4.0])
    return [state(hook), state(m), m.bias, trained(t, m)]


@programs
def spectral_norm_is_removed(t):
    m = t.nn.utils.spectral_norm(t.nn.utils.spectral_norm(seeded(t, lambda: t.nn.Linear(3, 2))), "bias")
    m(t.ones(1, 3))
    t.nn.utils.remove_spectral_norm(m)
    first = [state(m), [len(m._forward_pre_hooks), len(m._state_dict_hooks)]]
    t.nn.utils.remove_spectral_norm(m, "bias")
    return [first, state(m), [len(m._forward_pre_hooks), len(m._state_dict_hooks)]]


@programs
def spectral_norm_refuses(t):
    norm, parametrized = t.nn.utils.spectral_norm, t.nn.utils.parametrizations.spectral_norm
    m = norm(t.nn.Linear(3, 2))
    no_bias = t.nn.Linear(3, 2, bias=False)
    return [raised(lambda: norm(m)), raised(lambda: norm(t.nn.Linear(3, 2), "nope")), raised(lambda: norm(t.nn.Linear(3, 2), n_power_iterations=0)),
            raised(lambda: norm(t.nn.LazyLinear(2))), raised(lambda: t.nn.utils.remove_spectral_norm(t.nn.Linear(3, 2))), raised(lambda: norm(no_bias, "bias")),
            raised(lambda: parametrized(t.nn.Linear(3, 2), "nope")), raised(lambda: parametrized(t.nn.Linear(3, 2), n_power_iterations=0)),
            raised(lambda: parametrized(t.nn.Linear(3, 2), dim=4)), raised(lambda: parametrized(no_bias, "bias"))]


@programs
def spectral_norm_saves_and_loads(t):
    m = t.nn.utils.spectral_norm(seeded(t, lambda: t.nn.Linear(3, 2)))
    for _ in range(40):  # the singular vectors settle
        m(t.ones(1, 3))
    saved = m.state_dict()
    other = t.nn.utils.spectral_norm(t.nn.Linear(3, 2))
    other.load_state_dict(saved)
    other.eval()
    old = {k: v for k, v in saved.items() if k != "weight_v"} | {"weight": m.weight.detach()}
    oldest = t.nn.utils.spectral_norm(t.nn.Linear(3, 2))
    result = str(oldest.load_state_dict(old))
    missing = raised(lambda: oldest.load_state_dict({k: v for k, v in old.items() if k != "weight_u"}))
    unversioned = t.nn.utils.spectral_norm(t.nn.Linear(3, 2))
    unversioned.load_state_dict(dict(saved))
    return [dict(saved._metadata[""]), other(t.ones(1, 3)), result, oldest.eval()(t.ones(1, 3)), missing, unversioned.eval()(t.ones(1, 3))]


MAPS = [None, "matrix_exp", "cayley", "householder"]


@programs
def orthogonal_weights(t):
    def one(make, name, trivial):
        m = t.nn.utils.parametrizations.orthogonal(seeded(t, make), orthogonal_map=name, use_trivialization=trivial)
        first = [repr(m), state(m), m.weight]
        (m.weight * t.arange(m.weight.numel()).reshape(m.weight.shape)).sum().backward()
        return [first, m.parametrizations.weight.original.grad, m.weight @ m.weight.mT if m.weight.size(0) <= m.weight.size(1) else m.weight.mT @ m.weight]

    makes = [lambda: t.nn.Linear(3, 2), lambda: t.nn.Linear(2, 4), lambda: t.nn.Linear(3, 3), lambda: t.nn.Linear(3, 3, dtype=t.float64)]
    return [one(make, name, trivial) for make in makes for name in MAPS for trivial in (True, False)]


@programs
def orthogonal_batches_and_complex_weights(t):
    batch = t.nn.Module()
    batch.w = t.nn.Parameter((t.arange(24, dtype=t.float64) ** 2).reshape(2, 4, 3).sin())
    t.manual_seed(3)
    t.nn.utils.parametrizations.orthogonal(batch, "w", "cayley")
    square = t.nn.Module()
    square.w = t.nn.Parameter(t.complex(t.linspace(-1, 2, 9, dtype=t.float64), t.linspace(0, 3, 9, dtype=t.float64).cos()).reshape(3, 3))
    t.nn.utils.parametrizations.orthogonal(square, "w", use_trivialization=False)
    return [batch.w, (batch.w.mT @ batch.w).detach(), t.view_as_real(square.w)]


@programs
def orthogonal_assignment(t):
    def assign(value, **kwargs):
        m = t.nn.utils.parametrizations.orthogonal(seeded(t, lambda: t.nn.Linear(3, 3)), **kwargs)
        try:
            m.weight = value
        except (ValueError, NotImplementedError) as error:
            return type(error)
        return [m.weight, m.parametrizations.weight.original]

    rotation = t.tensor([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    return [assign(value, orthogonal_map=name, use_trivialization=trivial)
            for value in (rotation, t.arange(9.0).reshape(3, 3).cos(), t.ones(3, 4)) for name in MAPS for trivial in (True, False)]


@programs
def orthogonal_refuses(t):
    orthogonal = t.nn.utils.parametrizations.orthogonal
    return [raised(lambda: orthogonal(t.nn.Linear(3, 2), "nope")), raised(lambda: orthogonal(t.nn.Linear(3, 2), orthogonal_map="qr")),
            raised(lambda: orthogonal(t.nn.Linear(3, 2), "bias")),
            raised(lambda: orthogonal(t.nn.Linear(3, 2, dtype=t.complex64), orthogonal_map="householder"))]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


@pytest.mark.parametrize("norm", [nn.utils.spectral_norm, lambda m: quiet(nn.utils.weight_norm, m)], ids=["spectral_norm", "weight_norm"])
def test_modules_with_hooks_are_copied_and_pickled(norm):
    m = norm(nn.Linear(3, 2))
    x = flambeau.ones(1, 3)
    m(x)
    m.weight.detach_()  # what a call leaves there has a graph, which cannot be copied
    want = m.eval()(x)
    m.weight.detach_()
    for replica in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert flambeau.equal(replica(x), want)
        assert list(replica.state_dict()) == list(m.state_dict())


@pytest.mark.parametrize("register", [
    nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.orthogonal,
    lambda m: nn.utils.parametrizations.orthogonal(m, orthogonal_map="cayley")])
def test_gradients(register):
    """(Householder's map has steps, at the signs on the diagonal.)"""
    m = register(nn.Linear(3, 3).double())
    originals = [p for p in m.parametrizations.weight.parameters()]

    def weight(*values):
        return flambeau.func.functional_call(m.parametrizations.weight, dict(zip(("original",) if len(values) == 1 else ("original0", "original1"), values)), ())

    assert gradcheck(weight, [p.detach().clone().requires_grad_() for p in originals])
