"""Pruning, compared with PyTorch: masks, names, chains of methods, random choices and errors."""

import copy
import pickle

import pytest

import flambeau
from _programs import Programs, raised
from flambeau import nn
from flambeau.nn.utils import prune

programs = Programs("nn_prune.json")


def library(t):
    if t is flambeau:
        return prune
    import torch.nn.utils.prune

    return torch.nn.utils.prune


def layer(t, kind="Linear"):
    t.manual_seed(7)
    return t.nn.Linear(4, 3) if kind == "Linear" else t.nn.Conv2d(3, 4, 2)


def state(m, name="weight"):
    hooks = list(m._forward_pre_hooks.values())
    return [list(m.state_dict()), getattr(m, f"{name}_mask"), getattr(m, name), [n for n, _ in m.named_parameters()], [type(h).__name__ for h in hooks],
            [h._tensor_name for h in hooks]]


def single(t):
    """Each method with amounts as numbers and shares."""
    p = library(t)
    mask = t.tensor([[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 1, 0]])
    yield lambda m: p.identity(m, "weight")
    yield lambda m: p.custom_from_mask(m, "weight", mask)
    for amount in (0, 2, 0.5, 0.3, 1.0, 0.0):
        yield lambda m, amount=amount: p.random_unstructured(m, "weight", amount)
        yield lambda m, amount=amount: p.l1_unstructured(m, "weight", amount)
        for dim in (0, 1, -1):
            yield lambda m, amount=amount, dim=dim: p.random_structured(m, "weight", amount, dim)
            for n in (1, 2, float("inf")):
                yield lambda m, amount=amount, dim=dim, n=n: p.ln_structured(m, "weight", amount, n, dim)
    scores = t.arange(12.0).reshape(3, 4)
    yield lambda m: p.l1_unstructured(m, "weight", 5, importance_scores=scores)
    yield lambda m: p.ln_structured(m, "weight", 1, 2, 1, importance_scores=scores)


@programs
def one_method(t):
    return [state(method(layer(t))) for method in single(t)]


@programs
def convolutions(t):
    p = library(t)
    return [state(p.ln_structured(layer(t, "Conv2d"), "weight", 2, 2, dim)) for dim in (0, 1, 2, 3)] + [state(p.l1_unstructured(layer(t, "Conv2d"), "bias", 1), "bias")]


@programs
def gradients_and_training(t):
    m = library(t).l1_unstructured(layer(t), "weight", 0.5)
    m(t.ones(2, 4)).sum().backward()
    with t.no_grad():
        m.weight_orig -= m.weight_orig.grad
    before = m.weight.clone()
    out = m(t.ones(2, 4))
    return [m.weight_orig.grad, before, out, m.weight, type(m.weight_orig).__name__, repr(m)]


@programs
def pruned_elements_count_as_zeros(t):
    p = library(t)
    m = layer(t, "Conv2d")
    p.random_unstructured(m, "weight", 0.5)
    return [state(p.ln_structured(m, "weight", 1, 2, dim)) for dim in (0, 1)] + [state(p.l1_unstructured(m, "weight", 2))]


@programs
def chains(t):
    p = library(t)
    m = layer(t)
    steps = [lambda: p.random_unstructured(m, "weight", 3), lambda: p.ln_structured(m, "weight", 1, 2, 1), lambda: p.l1_unstructured(m, "weight", 0.5),
             lambda: p.random_structured(m, "weight", 1, 0), lambda: p.custom_from_mask(m, "weight", t.tensor([[0, 1, 1, 1]] * 3)), lambda: p.identity(m, "weight")]
    states = [state(step()) for step in steps]
    container = next(iter(m._forward_pre_hooks.values()))
    return [states, len(container), [type(x).__name__ for x in container], type(container[0]).__name__]


@programs
def two_parameters(t):
    p = library(t)
    m = p.l1_unstructured(p.l1_unstructured(layer(t), "weight", 2), "bias", 1)
    first = [state(m), state(m, "bias"), p.is_pruned(m), p.is_pruned(t.nn.Sequential(m)), p.is_pruned(t.nn.Linear(1, 1))]
    p.remove(m, "weight")
    second = [list(m.state_dict()), m.weight, type(m.weight).__name__, p.is_pruned(m), len(m._forward_pre_hooks)]
    p.remove(m, "bias")
    return [first, second, list(m.state_dict()), p.is_pruned(m), raised(lambda: p.remove(m, "weight"))]


@programs
def across_modules(t):
    p = library(t)
    a, b = layer(t), layer(t, "Conv2d")
    pairs = [(a, "weight"), (b, "weight"), (a, "bias")]
    p.l1_unstructured(b, "weight", 4)
    p.global_unstructured(pairs, p.L1Unstructured, amount=0.4)
    first = [state(a), state(b), state(a, "bias")]
    t.manual_seed(1)
    p.global_unstructured(tuple(pairs), p.RandomUnstructured, amount=5)
    second = [state(a), state(b), state(a, "bias")]
    p.global_unstructured(pairs, p.L1Unstructured, importance_scores={(a, "weight"): t.ones(3, 4)}, amount=3)
    return [first, second, state(a), state(b), state(a, "bias")]


@programs
def refusals(t):
    p = library(t)

    def fresh():
        return t.nn.Linear(4, 3)

    amounts = [raised(lambda method=method, amount=amount: method(fresh(), amount)) for amount in (1.5, -1, "a", 13, -0.5, None) for method in (
        lambda m, a: p.l1_unstructured(m, "weight", a), lambda m, a: p.random_unstructured(m, "weight", a), lambda m, a: p.random_structured(m, "weight", a, 0),
        lambda m, a: p.ln_structured(m, "weight", a, 2, 1))]
    pairs = [(fresh(), "weight")]
    a, b = p.L1Unstructured(1), p.Identity()
    a._tensor_name, b._tensor_name = "v", "w"
    return [amounts, raised(lambda: p.ln_structured(fresh(), "weight", 1, 2, 2)), raised(lambda: p.ln_structured(fresh(), "weight", 1, 2, -3)),
            raised(lambda: p.ln_structured(fresh(), "bias", 1, 2, 0)), raised(lambda: p.random_structured(fresh(), "bias", 1, 0)),
            raised(lambda: p.identity(fresh(), "nope")), raised(lambda: p.custom_from_mask(fresh(), "weight", t.ones(3))),
            raised(lambda: p.l1_unstructured(fresh(), "weight", 1, importance_scores=t.ones(3))), raised(lambda: p.remove(fresh(), "weight")),
            raised(lambda: p.global_unstructured(5, p.L1Unstructured, amount=1)), raised(lambda: p.global_unstructured(pairs, p.LnStructured, amount=1, n=2)),
            raised(lambda: p.global_unstructured(pairs, p.L1Unstructured, importance_scores=5, amount=1)),
            raised(lambda: p.global_unstructured(pairs, p.L1Unstructured, amount=50)), raised(lambda: p.global_unstructured([], p.L1Unstructured, amount=1)),
            raised(p.BasePruningMethod), raised(lambda: p.PruningContainer().add_pruning_method(5)), raised(lambda: p.PruningContainer(a).add_pruning_method(b))]


@programs
def methods_alone(t):
    p = library(t)
    x, method = t.arange(4.0), p.L1Unstructured(2)
    class EverySecond(p.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    m = layer(t)
    EverySecond.apply(m, "weight")
    first = state(m)
    EverySecond.apply(m, "weight")
    return [method.prune(x), method.prune(x, default_mask=t.tensor([1.0, 1, 0, 1])), method.prune(x, importance_scores=-x + 9), method.compute_mask(x, t.ones(4)),
            raised(lambda: method.prune(x, importance_scores=t.ones(2))), first, state(m), vars(p.LnStructured(1, 2)), vars(p.RandomStructured(0.5))]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_a_pruned_module_is_copied(copied):
    m = prune.l1_unstructured(nn.Linear(4, 3), "weight", 0.5)
    m.weight.detach_()  # what a call leaves there has a graph, which cannot be copied
    replica = copied(m)
    x = flambeau.ones(1, 4)
    assert flambeau.equal(replica(x), m(x))
    assert prune.is_pruned(replica)
    assert replica.weight_orig is not m.weight_orig


def test_a_pruned_state_dict_is_loaded():
    m, other = (prune.random_unstructured(nn.Linear(4, 3), "weight", 0.5) for _ in range(2))
    other.load_state_dict(m.state_dict())
    x = flambeau.ones(1, 4)
    assert flambeau.equal(other(x), m(x))
