"""Cumulative sums, products and extrema, differences and trapezoids; against PyTorch, and by hand."""

import numpy as np
import pytest

import flambeau
from _folds import check_derivatives, check_value, lines

DERIVATIVES = [
    ("x.cumsum(1)", "x"), ("x.cumsum(-1)", "x"), ("s.cumsum(0)", "s"), ("x.cumprod(2)", "x"), ("z.cumprod(0)", "z"),
    ("z.cumprod(1)", "z"), ("s.cumprod(0)", "s"), ("x.cummax(2)", "x"), ("t.cummax(0)", "t"), ("x.cummin(1)", "x"),
    ("s.cummin(0)", "s"), ("x.logcumsumexp(2)", "x"), ("s.logcumsumexp(0)", "s"), ("x.diff()", "x"),
    ("x.diff(2, 1)", "x"), ("x.diff(dim=0, prepend=x[:1] * 2, append=x[1:])", "x"), ("x.diff(n=0) * x", "x"),
    ("torch.gradient(x)", "x"), ("torch.gradient(x, spacing=0.5, dim=2, edge_order=2)", "x"),
    ("torch.gradient(x, spacing=(v.sort().values,), dim=2, edge_order=2)", "x"),
    ("torch.trapezoid(x)", "x"), ("torch.trapezoid(x, dx=0.5, dim=0)", "x"), ("torch.trapezoid(x, x.flip(2))", "x"),
    ("torch.trapz(x, v)", "v"), ("torch.trapezoid(x, v[:2], dim=1)", "x"),
    ("torch.cumulative_trapezoid(x, dim=1)", "x"), ("torch.cumulative_trapezoid(x, v)", "x"),
]

VALUES = lines("""
i.cumsum(1), b.cumsum(0), u.cumsum(0), i8.cumsum(0), c.cumsum(0), h.cumsum(0), bf.cumsum(0)
i.cumprod(1), b.cumprod(0), c.cumprod(0), h.cumprod(0)
i.cumsum(0, dtype=torch.float32), f.cumsum(0, dtype=torch.int64)
i.cummax(1), b.cummin(0), n.cummax(1), n.cummin(0), h.cummax(0)
e.cumsum(0), e2.cumsum(1), e2.cumprod(0), e2.cummax(0)
torch.tensor([-inf, 1., 1000., inf]).logcumsumexp(0), c.logcumsumexp(0), h.logcumsumexp(0)
i.diff(), b.diff(), f.diff(5), i.diff(dim=0), i.diff(prepend=i, append=i)
torch.gradient(f, spacing=None, dim=1)
torch.gradient(i), torch.gradient(f, spacing=[1., 2.]), torch.gradient(f, spacing=torch.tensor(2.)), torch.gradient(s)
torch.gradient(f, spacing=(torch.tensor([0., 1.]), torch.tensor([0., 1., 3.]))), torch.gradient(c), torch.gradient(h, dim=-1)
torch.trapezoid(i), torch.trapezoid(e2), torch.cumulative_trapezoid(i), torch.trapezoid(f, torch.tensor([0., 1., 3.]))
f.clone().cumsum_(1), f.clone().cumprod_(0), i.clone().cumsum_(0)
f.cumsum(axis=1)
""")

ERRORS = lines("""
f.cumsum()
f.cumsum(2)
f.cumsum('a')
f.cummax(3)
i.logcumsumexp(0)
s.diff()
f.diff(-1)
f.diff(prepend=v.float())
f.diff(prepend=torch.zeros(3, 1))
torch.gradient(u)
torch.gradient(f, edge_order=3)
torch.gradient(f, dim=0, edge_order=2)
torch.gradient(f, dim=(0, 1), spacing=[1.])
torch.gradient(f, dim=(0, 0))
torch.gradient(f, dim=5)
torch.gradient(f, dim=1, spacing=torch.zeros(3))
torch.trapezoid(b)
torch.trapezoid(s)
torch.trapezoid(f, torch.zeros(2))
f.cumsum_(0, dtype=torch.complex64)
torch.cumsum(f, 0, out=torch.empty(2, 3, dtype=torch.int64))
""")


@pytest.mark.oracle
@pytest.mark.parametrize(("expression", "input"), DERIVATIVES)
def test_derivatives_agree_with_torch(expression, input):
    check_derivatives(expression, input)


@pytest.mark.oracle
@pytest.mark.parametrize("expression", VALUES)
def test_values_agree_with_torch(expression):
    check_value(expression)


@pytest.mark.oracle
@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_those_of_torch(expression):
    check_value(expression)


# ---- by hand


def test_running_values():
    x = flambeau.tensor([[1.0, 3.0, 2.0], [4.0, 4.0, 0.0]])
    assert x.cumsum(1).tolist() == [[1, 4, 6], [4, 8, 8]]
    assert x.cumprod(0).tolist() == [[1, 3, 2], [4, 12, 0]]
    values, indices = x.cummax(1)
    assert values.tolist() == [[1, 3, 3], [4, 4, 4]] and indices.tolist() == [[0, 1, 1], [0, 1, 1]]
    assert flambeau.tensor([True, True]).cumsum(0).tolist() == [1, 2]
    assert x.diff().tolist() == [[2, -1], [0, -4]]
    assert flambeau.trapezoid(x).tolist() == [4.5, 6]


def test_the_gradient_of_a_running_product_with_zeros():
    x = flambeau.tensor([2.0, 0.0, 3.0, 0.0], requires_grad=True)
    x.cumprod(0).sum().backward()
    assert x.grad.tolist() == [1, 2 + 6, 0, 0]


def test_logcumsumexp_does_not_overflow():
    x = flambeau.tensor([1000.0, 1000.0], requires_grad=True)
    y = x.logcumsumexp(0)
    np.testing.assert_allclose(y.tolist(), [1000, 1000 + np.log(2)], rtol=1e-6)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [1.5, 0.5], rtol=1e-3)


def test_in_place_and_out():
    x = flambeau.tensor([1, 2, 3])
    assert x.cumsum_(0) is x and x.tolist() == [1, 3, 6]
    out = flambeau.zeros(3, dtype=flambeau.int64)
    assert flambeau.cumprod(x, 0, out=out) is out and out.tolist() == [1, 3, 18]


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: flambeau.zeros(2).cumsum(1), IndexError, "but got 1"),
    (lambda: flambeau.tensor(1.0).diff(), RuntimeError, "at least one-dimensional"),
    (lambda: flambeau.zeros(2).diff(-1), RuntimeError, "non-negative but got -1"),
    (lambda: flambeau.zeros(2, dtype=flambeau.int64).logcumsumexp(0), NotImplementedError, "'Long'"),
])
def test_messages_name_the_cause(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_a_wrong_dimension_is_reported_before_overlapping_memory(name):
    x = flambeau.ones(3, 1).expand(3, 2)
    with pytest.raises(IndexError, match="Dimension out of range"):
        getattr(x, name)(2)
    with pytest.raises(RuntimeError, match="single memory location"):
        getattr(x, name)(0)
