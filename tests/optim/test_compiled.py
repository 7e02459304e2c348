"""A compiled step matches the eager one for every optimizer; changing the learning rate does not recompile."""

import numpy as np
import pytest

import flambeau
from optim._cases import problem_for

pytestmark = pytest.mark.jax

CASES = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1}), ("AdamW", {"lr": 0.01, "amsgrad": True}), ("Adamax", {"lr": 0.01}),
    ("NAdam", {"lr": 0.01}), ("RAdam", {"lr": 0.01, "betas": (0.9, 0.99)}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.9}), ("Rprop", {"lr": 0.01}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}), ("Adadelta", {"lr": 1.0}), ("ASGD", {"lr": 0.1, "t0": 3, "lambd": 0.1}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1}), ("Muon", {"lr": 0.01}),
]
TOLERANCE = {"Muon": dict(rtol=1e-2, atol=3e-3)}  # it computes in bfloat16, which XLA rounds less often


@pytest.fixture(autouse=True)
def _compiles_quickly():
    jax = pytest.importorskip("jax", reason="the compiler needs jax")
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


def train(name, options, compiles, set_lr):
    """(parameters after each of 6 steps, how many programs) under a learning rate that falls."""
    problem = problem_for(name)(flambeau)
    optimizer = getattr(flambeau.optim, name)(problem.parameters, **options)

    def step():
        optimizer.zero_grad()
        problem.loss().backward()
        optimizer.step()

    run = flambeau.compile(step) if compiles else step
    trajectory = []
    for _ in range(6):
        run()
        trajectory.append(problem.values)
        set_lr(optimizer.param_groups[0])
    return trajectory, run.count if compiles else None


def shrink(group):
    group["lr"] *= 0.8


def shrink_tensor(group):
    group["lr"].mul_(0.8)


def check(name, options, set_lr):
    eager, _ = train(name, options(), False, set_lr)
    compiled, programs = train(name, options(), True, set_lr)
    assert programs == 1
    for ours, want in zip(compiled, eager, strict=True):
        for key, value in want.items():
            np.testing.assert_allclose(ours[key], value, err_msg=key, **TOLERANCE.get(name, dict(rtol=2e-5, atol=2e-6)))


@pytest.mark.parametrize("name, options", CASES, ids=[f"{name} {options}" for name, options in CASES])
def test_compiled_as_eager(name, options):
    check(name, lambda: dict(options), shrink)


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad"])
def test_the_learning_rate_may_be_a_tensor(name):
    check(name, lambda: {"lr": flambeau.tensor(0.1)}, shrink_tensor)
