"""Grouped, int8 and scaled matrix products, compared with PyTorch."""

import pytest

import flambeau

CALLS = [
    "t._grouped_mm(x(8, 16), x(2, 16, 8), offs=ends(4, 8))",
    "t._grouped_mm(x(2, 8, 16), x(2, 16, 8))",
    "t._grouped_mm(x(8, 16), x(16, 8), offs=ends(8, 16))",
    "t._grouped_mm(x(2, 8, 16), x(16, 8), offs=ends(4, 8))",
    "t._grouped_mm(x(8, 16), x(2, 16, 8), ends(0, 8))",
    "t._int_mm(x(32, 8).to(t.int8), x(8, 16).to(t.int8))",
    "t._scaled_mm(f8(16, 32), f8(16, 32).t(), scale_a=t.tensor(2.0), scale_b=t.tensor(0.5), out_dtype=t.float32)",
]


def outcome(t, call):
    def x(*shape):
        n = flambeau.Size(shape).numel()
        return ((t.arange(n) * 7 % 5) - 2).view(shape).float()

    names = {"t": t, "x": x, "ends": lambda *e: t.tensor(e, dtype=t.int32), "f8": lambda *s: x(*s).to(t.float8_e4m3fn)}
    result = eval(call, names)
    return str(result.dtype), result.tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("call", CALLS)
def test_like_pytorch(call):
    import torch

    assert outcome(flambeau, call) == outcome(torch, call)


def test_groups_are_products_of_their_own():
    a, b = flambeau.randn(5, 3), flambeau.randn(2, 3, 4, requires_grad=True)
    result = flambeau._grouped_mm(a, b, offs=flambeau.tensor([2, 5]))
    assert flambeau.equal(result[:2], a[:2] @ b[0])
    assert flambeau.equal(result[2:], a[2:] @ b[1])
    result.sum().backward()
    assert b.grad.shape == b.shape


@pytest.mark.parametrize("operands", [((2, 3), (3, 4)), ((2, 3), (2, 3, 4))])
def test_missing_ends_of_groups_are_refused(operands):
    a, b = (flambeau.ones(shape) for shape in operands)
    with pytest.raises(RuntimeError, match="offs, the ends of the groups, is required"):
        flambeau._grouped_mm(a, b)
