"""Differentiable steps: gradients with respect to all inputs, by finite differences and against PyTorch."""

import pytest

import flambeau
from _oracle import assert_same

CASES = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}), ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True}), ("AdamW", {"lr": 0.1, "maximize": True}), ("Adamax", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1}), ("RAdam", {"lr": 0.1, "betas": (0.9, 0.8)}), ("Adadelta", {"lr": 1.0}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5}), ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}), ("Rprop", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "weight_decay": 0.1}),
]


ONE_STEP = ("Rprop", "Adamax", "amsgrad")  # in the second, PyTorch overwrites what backward needs, and refuses


def moved(t, name, options, start, direction, factors=(1.0, 0.5)):
    """Parameters after recorded steps."""
    p = start.clone()
    optimizer = getattr(t.optim, name)([p], differentiable=True, **options)
    for factor in factors:
        p.grad = direction * factor
        optimizer.step()
    return p


def inputs(t):
    return [t.tensor(values, dtype=t.float64, requires_grad=True) for values in ([1.0, 2.0, -3.0], [0.5, -1.0, 2.0])]


@pytest.mark.parametrize("name, options", CASES, ids=[f"{name} {options}" for name, options in CASES])
def test_gradients(name, options):
    if name == "SGD":  # the first gradient goes into the momentum as a constant, as in PyTorch
        options = {**options, "momentum": 0, "nesterov": False}
    assert flambeau.autograd.gradcheck(lambda *given: moved(flambeau, name, options, *given), inputs(flambeau))


@pytest.mark.oracle
@pytest.mark.parametrize("name, options", CASES, ids=[f"{name} {options}" for name, options in CASES])
def test_gradients_are_those_of_torch(name, options):
    torch = pytest.importorskip("torch")
    factors = (1.0,) if name in ONE_STEP or "amsgrad" in options else (1.0, 0.5)
    grads = []
    for t in (flambeau, torch):
        given = inputs(t)
        grads.append(t.autograd.grad((moved(t, name, options, *given, factors) ** 2).sum(), given))
    assert_same(*grads, rtol=1e-5, atol=1e-6)


def test_a_leaf_is_refused():
    w = flambeau.ones(2, requires_grad=True)
    optimizer = flambeau.optim.Adam([w], differentiable=True)
    w.grad = flambeau.ones(2)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        optimizer.step()
