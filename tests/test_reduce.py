"""Reductions: sums, products, moments, extrema, truth, softmax, norms; against PyTorch, and by hand."""

import math
import pickle

import numpy as np
import pytest

import flambeau
from _folds import SETUP, check_derivatives, check_gradient, check_value, lines
from _oracle import check_code, outcome

NAN = float("nan")

SMOOTH = lines("""
x.sum()
x.sum(1)
x.sum((0, -1), keepdim=True)
x.sum([])
x.mean()
x.mean((0, 2))
x.mean(1, True)
x.nansum(2)
torch.nanmean(x, 0)
x.prod()
x.prod(-1)
x.prod(1, keepdim=True)
x.var()
x.var((0, 2), unbiased=False)
x.var(1, correction=0.5, keepdim=True)
x.var(False)
x.std()
x.std((0, 1))
torch.var_mean(x, 1)[0]
torch.var_mean(x, 1)[1]
torch.std_mean(x, (0, 2))[0] * torch.std_mean(x, (0, 2))[1]
x.logsumexp(1)
x.logsumexp((0, 2), True)
x.softmax(1)
x.softmax(-1) * x
x.log_softmax(0)
torch.norm(x)
x.norm(dim=1)
x.norm(3, (0, 2), keepdim=True)
x.norm(1.5)
torch.dist(x, x.flip(0) + 1, 3)
torch.renorm(x, 2, 1, 2.)
torch.cosine_similarity(x, x.flip(2), 2)
torch.cdist(x.expand(2, 2, 4).reshape(4, 4).repeat(7, 1) + torch.arange(28)[:, None], x[1])
""")

KINKED = lines("""
x.amax()
x.amin((0, 1))
x.max()
x.max(1)
x.min(2, keepdim=True)
torch.aminmax(x)[1]
x.aminmax(dim=1).min
x.norm(1)
x.norm(inf, 1)
x.norm(-inf)
""")

# PyTorch has no second derivative here.
ONCE = [
    ("torch.cdist(x, x.flip(0) + 0.5)", "x"), ("torch.cdist(x, x[0] * 2 - 1, p=3.)", "x"),
    ("torch.cdist(x[0], x[1], p=1.)", "x"), ("torch.pdist(z)", "z"), ("torch.pdist(z, 3)", "z"),
    ("(t * 0).norm()", "t"), ("(t * 0).norm(3)", "t"), ("(t * 0).std()", "t"),
]

OTHER_INPUTS = [
    ("z.prod()", "z"), ("z.prod(0)", "z"), ("z.prod(1)", "z"), ("t.prod()", "t"), ("t.amax()", "t"), ("t.max()", "t"),
    ("t.max(0)", "t"), ("t.amin(0)", "t"),
    ("s.sum(0)", "s"), ("s.mean(-1)", "s"), ("s.prod(0)", "s"), ("s.max(0)", "s"), ("s.softmax(0)", "s"),
    ("s.log_softmax(0)", "s"), ("s.logsumexp(0)", "s"), ("s.amax(0)", "s"), ("s.norm()", "s"), ("s.norm(dim=0)", "s"),
    ("torch.max(v, v.flip(0))", "v"), ("torch.min(t, t.flip(0))", "t"),
]

VALUES = lines("""
i.sum()
b.sum(0)
u.sum()
i8.sum()
i.sum(dtype=torch.float32)
f.sum(dtype=torch.float64), f.sum(dtype=torch.int64), f.prod(0, dtype=torch.int32), c.sum(dtype=torch.complex128)
bf.sum()
h.sum(dtype=torch.float64)
c.sum()
c.mean()
c.var()
c.prod()
c.norm()
bf.mean()
bf.prod()
h.var()
h.softmax(0)
h.amax()
bf.max(0)
h.norm()
e.sum(), e.prod(), e.mean(), e.all(), e.any()
e2.sum(1), e2.mean(1), e2.all(1), e2.amax(0), e2.max(0), e2.argmax(0), e2.logsumexp(1)
e.var()
big.sum()
big.sum(0)
big.sum(1)
big.mean(1, keepdim=True)
big.reshape(7, 30, 100).sum((0, 2))
big.reshape(7, 30, 100).sum(1)
big.t().sum(0)
i.prod(1), b.prod(), u.prod()
i.amax(1), b.amax(), i.max(), i.min(0), b.max(1)
i.argmax(), i.argmax(1), i.argmin(0, keepdim=True), f.argmax(keepdim=True), n.argmax(1), n.argmin()
n.max(1), n.amin(), n.min(), n.aminmax(dim=0)
n.nansum(1), n.nanmean(1), torch.nansum(i)
b.all(), b.any(1), u.all(), u.any(), f.all(dim=(0, 1)), f.any(dim=[]), i.all(1, keepdim=True)
i.count_nonzero(), i.count_nonzero(1), f.count_nonzero(0, 1), b.count_nonzero(dim=(0,))
i.logsumexp(1)
torch.tensor([-inf, -inf]).logsumexp(0), torch.tensor([inf, 1.]).logsumexp(0)
torch.tensor([1000., 1001.]).softmax(0), torch.tensor([-inf, 0.]).log_softmax(0)
i.softmax(0, dtype=torch.float64), h.log_softmax(0, torch.float32)
f.norm('fro', dim=(0, 1)), f.norm(2, 1, True), f.norm(dtype=torch.float64), torch.norm(f, None)
f.sum(axis=1, keepdims=True), f.max(axis=0), f.var(axis=1), f.softmax(axis=1)
torch.equal(f, f), torch.equal(f, f[0]), torch.equal(n, n)
torch.allclose(f, f + 1e-9), torch.allclose(n, n), torch.allclose(n, n, equal_nan=True)
torch.cdist(f, f[:1], p=0.), torch.cdist(f, f[:1], p=inf), torch.cdist(torch.empty(3, 0), torch.empty(2, 0))
""")

ERRORS = lines("""
torch.sum(3)
f.sum(5)
f.sum(1.5)
f.sum('a')
f.sum((0, 0))
i.mean()
i.var()
f.var(correction=0, unbiased=False)
f.prod((0, 1))
e.amax()
e2.amax(1)
e.max()
e2.max(1)
e.argmax()
e2.argmin(1)
e.aminmax()
c.max()
c.amax()
b.argmax()
c.argmin()
f.max(f, 1)
f.max(0, f)
f.max(dim=(0, 1))
f.max(keepdim=True)
f.argmax(dim=(0, 1))
f.aminmax(0)
f.logsumexp()
f.softmax(3)
i.softmax(0)
i.norm()
f.norm('x')
e.norm(inf)
torch.dist(i, i)
torch.renorm(v, 2, 0, 1.)
torch.renorm(f, 0, 0, 1.)
torch.renorm(f, 2, 0, -1.)
torch.cosine_similarity(i, i)
torch.cosine_similarity(v, v)
torch.cdist(f, f[0])
torch.cdist(f, f[:, :2])
torch.cdist(f, f, p=-1)
torch.cdist(f, f, compute_mode='x')
torch.cdist(i, i)
torch.allclose(f, f.double())
torch.sum(f, 0, out=torch.empty(3, dtype=torch.int64))
torch.amax(f, 0, out=torch.empty(3, dtype=torch.float64))
torch.sum(x, 0, out=torch.empty(2, 4, dtype=torch.float64))
""")

NODES = lines("""
x.sum()
x.renorm(2, 0, 1.)
(x * 1).renorm_(2, 0, 1.)
torch.cdist(x, x)
torch.cdist(x, x, p=1.)
torch.cdist(x, x, compute_mode='use_mm_for_euclid_dist')
torch.cdist(x[..., :0], x[..., :0])
torch.pdist(x[0])
x.sum(1)
x.mean()
x.mean(1)
x.prod()
x.prod(1)
x.max()
x.max(1)[0]
x.min()
x.amax()
x.aminmax()[0]
x.var()
x.std(1)
torch.var_mean(x)[1]
x.logsumexp(1)
x.softmax(1)
x.log_softmax(1)
x.norm()
torch.nansum(x)
""")


@pytest.mark.oracle
@pytest.mark.parametrize("expression", SMOOTH + KINKED)
def test_derivatives_agree_with_torch(expression):
    check_derivatives(expression)


@pytest.mark.oracle
@pytest.mark.parametrize(("expression", "input"), OTHER_INPUTS)
def test_derivatives_at_special_points_agree_with_torch(expression, input):
    check_derivatives(expression, input)


@pytest.mark.oracle
@pytest.mark.parametrize(("expression", "input"), ONCE)
def test_gradients_agree_with_torch(expression, input):
    check_gradient(expression, input)


@pytest.mark.oracle
@pytest.mark.parametrize("expression", VALUES)
def test_values_agree_with_torch(expression):
    check_value(expression)


@pytest.mark.oracle
@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_those_of_torch(expression):
    check_value(expression)


@pytest.mark.oracle
@pytest.mark.parametrize("expression", NODES)
def test_nodes_are_named_as_in_torch(expression):
    check_value(f"({expression}).grad_fn.name()")


# ---- by hand


def tensor(data, **options):
    return flambeau.tensor(data, **options)


@pytest.mark.parametrize(("expression", "expected"), [
    ("i.sum()", 8), ("u.sum()", 258), ("i8.sum()", 300), ("b.sum()", 3), ("i.prod(1)", [-6, 0]),
    ("f.sum(1)", [1.25, 1.25]), ("f.mean(0)", [1.75, -0.5, 0.0]), ("e.sum()", 0.0), ("e.prod()", 1.0),
    ("f.amax(1)", [2.0, 3.0]), ("f.argmax(1)", [2, 0]), ("i.argmax(1)", [0, 1]), ("f.all()", True),
    ("i.all(1)", [True, False]), ("i.count_nonzero()", 5), ("n.nansum(1)", [4.0, 0.0, 7.0]),
    ("torch.tensor([3., 4.]).norm()", 5.0), ("torch.tensor([3., -4.]).norm(1)", 7.0),
    ("torch.tensor([1., 3.]).var()", 2.0), ("torch.tensor([1., 3.]).var(correction=0)", 1.0),
    ("torch.tensor([2., 6.]).std(unbiased=False)", 2.0), ("torch.tensor([0., 0.]).softmax(0)", [0.5, 0.5]),
    ("torch.tensor([0., 0.]).logsumexp(0)", math.log(2)), ("torch.equal(f, f)", True),
])
def test_values(expression, expected):
    value, error = outcome(SETUP + expression, flambeau)
    assert error is None
    got = value if isinstance(value, bool) else value.tolist()
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.complex64])
def test_equal_elements_have_no_deviation(dtype):
    for n in (3, 7, 100):
        x = (flambeau.ones(n, 4) * (flambeau.arange(1, 5) / 7)).to(dtype)
        assert not x.var(0).any() and not x.std(0, keepdim=True).any()


def test_large_sums_are_accurate():
    x = np.random.default_rng(0).standard_normal((300, 37, 111)).astype(np.float32)
    t = flambeau.from_numpy(x)
    for axis in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2)):
        got = (t.sum() if axis is None else t.sum(axis)).numpy()
        np.testing.assert_allclose(got, x.astype(np.float64).sum(axis), rtol=1e-5, atol=2e-4)


def test_half_sums_run_in_float32():
    assert flambeau.ones(5000, dtype=flambeau.bfloat16).sum().item() == 4992  # the bfloat16 next to 5000
    assert flambeau.full((4096,), 100.0, dtype=flambeau.float16).mean().item() == 100


def test_ties_share_the_gradient_of_an_extreme_value():
    x = tensor([1.0, 3.0, 3.0], requires_grad=True)
    x.amax().backward()
    assert x.grad.tolist() == [0, 0.5, 0.5]
    x.grad = None
    x.max(0).values.backward()
    assert x.grad.tolist() == [0, 1, 0]


def test_the_gradient_of_a_product_with_zeros():
    x = tensor([2.0, 0.0, 3.0], requires_grad=True)
    x.prod().backward()
    assert x.grad.tolist() == [0, 6, 0]


def test_results_have_names():
    found = tensor([[1, 5], [7, 2]]).max(1)
    assert found.values.tolist() == [5, 7] and found.indices.tolist() == [1, 0]
    assert repr(found) == "torch.return_types.max(\nvalues=tensor([5, 7]),\nindices=tensor([1, 0]))"
    values, indices = pickle.loads(pickle.dumps(tuple(t.tolist() for t in found)))
    assert (values, indices) == ([5, 7], [1, 0])


def test_out_takes_the_result():
    x, out = tensor([[1.0, 2.0], [3.0, 4.0]]), flambeau.zeros(2)
    assert flambeau.sum(x, 0, out=out) is out
    assert out.tolist() == [4, 6]
    values, indices = flambeau.zeros(2), flambeau.zeros(2, dtype=flambeau.int64)
    flambeau.max(x, 1, out=(values, indices))
    assert values.tolist() == [2, 4] and indices.tolist() == [1, 1]


def test_renorm_in_place():
    x = tensor([[3.0, 4.0], [0.3, 0.4]])
    assert x.renorm_(2, 0, 1.0) is x
    np.testing.assert_allclose(x.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: tensor([1, 2]).mean(), RuntimeError, "Got: Long"),
    (lambda: flambeau.zeros(0).max(), RuntimeError, "Specify the reduction dim"),
    (lambda: flambeau.zeros(2, 0).argmax(1), IndexError, r"dim 1 to have non-zero size.*\[2, 0\]"),
    (lambda: flambeau.zeros(2).sum(3), IndexError, r"range of \[-1, 0\], but got 3"),
    (lambda: flambeau.zeros(2, 3).sum((0, 0)), RuntimeError, "dim 0 appears multiple times"),
    (lambda: flambeau.zeros(2, 3).sum("a"), TypeError, "int or tuple of ints, not str"),
    (lambda: flambeau.zeros(2).var(True, correction=1), TypeError, "not both"),
    (lambda: flambeau.cdist(flambeau.zeros(2, 3), flambeau.zeros(2, 2)), RuntimeError, "X1: 3 X2: 2"),
])
def test_messages_name_the_cause(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_one_element_has_no_variance():
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert math.isnan(tensor([1.0]).var().item())


@pytest.mark.oracle
@pytest.mark.parametrize("call", ["x.var()", "x.std(0)", "x.var(1, correction=0)", "x.std((0, 1), keepdim=True)", "torch.var_mean(x, 1)"])
@pytest.mark.parametrize("x", ["torch.linspace(-1, 7, 20).view(4, 5)", "torch.full((4, 5), 1e-30)", "torch.ones(4, 5) * 3e18",
                               "1e6 + torch.linspace(0, 1, 20).view(5, 4).t()", "torch.linspace(-3e18, 3e18, 20).view(4, 5)"])
def test_moments_of_a_few_elements(x, call):
    check_code(f"x = {x}; {call}")


@pytest.mark.parametrize("dim", [None, 0])
def test_products_of_some_halves_do_not_overflow_in_the_gradient_of_all(dim):
    half = flambeau.cat([flambeau.full((20,), 4.0), flambeau.full((20,), 0.25)]).half().requires_grad_()
    half.prod(*[] if dim is None else [dim]).backward()
    assert half.grad.tolist() == [0.25] * 20 + [4.0] * 20
