"""``torch._foreach_*``: the functions on lists, compared with PyTorch."""

import pytest

import flambeau

UNARY = ["abs", "exp", "sqrt", "neg", "tanh", "reciprocal", "log1p", "sign", "erf", "frac", "trunc"]
CALLS = [
    *(f"t._foreach_{name}{suffix}(a)" for name in UNARY for suffix in ("", "_")),
    "t._foreach_add(a, b, alpha=3)", "t._foreach_add(a, 2)", "t._foreach_add_(a, [1.0, 2.0])",
    "t._foreach_add(a, t.tensor(2.0), alpha=0.5)", "t._foreach_sub(a, b)", "t._foreach_mul_(a, b)",
    "t._foreach_mul(a, t.tensor(2.0))", "t._foreach_div(a, [2.0, 4.0])", "t._foreach_pow(a, 2)",
    "t._foreach_pow(0.5, a)", "t._foreach_pow(0.5, [])",
    "t._foreach_maximum(a, b)", "t._foreach_maximum_(a, 1.5)", "t._foreach_minimum(a, [1.0, 2.0])",
    "t._foreach_clamp_min(a, b)", "t._foreach_clamp_max(a, 2)", "t._foreach_lerp(a, b, 0.25)",
    "t._foreach_lerp_(a, b, weight=0.25)", "t._foreach_lerp(a, b, a)", "t._foreach_addcmul(a, a, b)",
    "t._foreach_addcmul(a, a, b, 0.5)", "t._foreach_addcmul_(a, a, b, value=0.5)",
    "t._foreach_addcdiv(a, a, b, [1.0, 2.0])", "t._foreach_addcdiv(a, a, b, scalars=[1.0, 2.0])",
    "t._foreach_addcdiv(a, a, b, t.tensor([1.0, 2.0]))", "t._foreach_norm(a)", "t._foreach_norm(a, ord=1)",
    "t._foreach_norm(a, float('inf'), dtype=t.float64)", "t._foreach_zero_(a)", "t._foreach_copy_(a, b)",
    "t._foreach_max(a)", "t._foreach_clone(a)", "t._foreach_add(a, b[:1])", "t._foreach_add([], 1)",
]


def outcome(t, call):
    a = [t.tensor([1.0, 2.0]), t.tensor([[3.0], [0.5]])]
    names = {"t": t, "a": a, "b": [t.full((2,), 2.0), t.full((2, 1), 4.0)]}
    try:
        result = eval(call, names)
    except RuntimeError as error:
        return str(error)
    return type(result).__name__, [(str(x.dtype), x.tolist()) for x in [*result, *a]]


@pytest.mark.oracle
@pytest.mark.parametrize("call", CALLS)
def test_like_pytorch(call):
    import torch

    ours, theirs = outcome(flambeau, call), outcome(torch, call)
    if isinstance(ours, str):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    for (dtype, values), (expected_dtype, expected) in zip(ours[1], theirs[1], strict=True):
        assert dtype == expected_dtype
        flambeau.testing.assert_close(flambeau.tensor(values), flambeau.tensor(expected))


def test_a_moving_average():
    average, model = [flambeau.zeros(2)], [flambeau.ones(2)]
    assert flambeau._foreach_lerp_(average, model, 0.25) is average
    assert average[0].tolist() == [0.25, 0.25]
