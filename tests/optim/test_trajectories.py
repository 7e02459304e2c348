"""Every optimizer with its options takes PyTorch's steps; states are exchanged between the libraries."""

import numpy as np
import pytest

import flambeau
from _oracle import to_flambeau, to_torch
from optim._cases import CASES, IDS, problem_for

pytestmark = pytest.mark.oracle

TOLERANCE = {"float32": dict(rtol=2e-4, atol=2e-5), "float64": dict(rtol=1e-9, atol=1e-11)}
ROUNDED = {
    "ASGD": dict(rtol=1e-6, atol=1e-7),  # PyTorch keeps its step sizes in float32, whatever the parameters are
    "LBFGS": dict(rtol=1e-5, atol=1e-6),  # divides by differences of gradients, which are rounded
    "Muon": dict(rtol=1e-3, atol=2e-3),  # computes in bfloat16
}
STEPS = {"LBFGS": 3}  # of up to 20 iterations


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def same(name, got, want, dtype):
    tolerance = ROUNDED.get(name, TOLERANCE[dtype]) if dtype == "float64" else TOLERANCE[dtype]
    for nr, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        for key in theirs:
            np.testing.assert_allclose(ours[key], theirs[key], **tolerance, err_msg=f"{key} after step {nr + 1}")


def converted(value, convert, kind):
    """A state dict with the tensors of the other library."""
    if isinstance(value, kind):
        return convert(value)
    if isinstance(value, dict):
        return {k: converted(v, convert, kind) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(converted(v, convert, kind) for v in value)
    return value


@pytest.mark.parametrize("name, options, dtype", [
    pytest.param(*case, dtype, id=f"{name} {dtype}") for case, name in zip(CASES, IDS, strict=True)
    for dtype in ("float32", "float64") if not (dtype == "float32" and case[0] in ("LBFGS", "Muon"))
])
def test_twenty_steps(torch, name, options, dtype):
    ours, theirs = problem_for(name)(flambeau, dtype), problem_for(name)(torch, dtype)
    optimizer, oracle = getattr(flambeau.optim, name)(ours.parameters, **options), \
        getattr(torch.optim, name)(theirs.parameters, **options)
    steps = STEPS.get(name, 20)
    same(name, ours.train(optimizer, steps), theirs.train(oracle, steps), dtype)
    assert repr(optimizer) == repr(oracle)
    saved, expected = optimizer.state_dict(), oracle.state_dict()
    assert saved["param_groups"] == expected["param_groups"]
    assert list(saved["state"]) == list(expected["state"])
    for nr, state in expected["state"].items():
        assert list(saved["state"][nr]) == list(state)
        for key, value in state.items():
            if isinstance(value, torch.Tensor):
                own = saved["state"][nr][key]
                assert (str(own.dtype), tuple(own.shape)) == (str(value.dtype), tuple(value.shape)), key


@pytest.mark.parametrize("to_theirs", [True, False], ids=["to torch", "from torch"])
@pytest.mark.parametrize("name, options", CASES, ids=IDS)
def test_state_dicts_are_exchanged_with_pytorch(torch, name, options, to_theirs):
    first, second = (flambeau, torch) if to_theirs else (torch, flambeau)
    convert = to_torch if to_theirs else to_flambeau
    before = problem_for(name)(first, "float64")
    optimizer = getattr(first.optim, name)(before.parameters, **options)
    before.train(optimizer, STEPS.get(name, 5))
    after = problem_for(name)(second, "float64", before.values)
    other = getattr(second.optim, name)(after.parameters, lr=0.5)
    other.load_state_dict(converted(optimizer.state_dict(), convert, first.Tensor))
    same(name, after.train(other, 2), before.train(optimizer, 2), "float64")
