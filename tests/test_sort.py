"""Sorting, ranks, search, distinct values, statistics and histograms; against PyTorch, and by hand."""

import numpy as np
import pytest

import flambeau
from _folds import check_derivatives, check_value, lines

DERIVATIVES = [
    ("x.sort(1)", "x"), ("x.sort(-1, descending=True)", "x"), ("x.sort(dim=0, stable=True)", "x"), ("s.sort()", "s"),
    ("x.msort()", "x"), ("x.topk(2)", "x"), ("x.topk(1, 1, largest=False)", "x"), ("s.topk(1)", "s"),
    ("x.kthvalue(2)", "x"), ("x.kthvalue(1, 1, keepdim=True)", "x"), ("s.kthvalue(1)", "s"), ("x.median()", "x"),
    ("x.median(1)", "x"), ("x.median(-1, True)", "x"), ("s.median(0)", "s"), ("x.nanmedian()", "x"),
    ("x.nanmedian(2)", "x"), ("t.median()", "t"), ("t.mode()", "t"), ("x.quantile(0.3)", "x"),
    ("x.quantile(0.3, 1, keepdim=True)", "x"), ("x.quantile(torch.tensor([0.1, 0.5, 1.]).double(), -1)", "x"),
    ("x.quantile(0.7, interpolation='midpoint')", "x"), ("x.quantile(0.7, 0, interpolation='nearest')", "x"),
    ("x.nanquantile(0.4, 2)", "x"), ("s.quantile(0.5, 0)", "s"), ("torch.cov(z)", "z"), ("torch.cov(v)", "v"),
    ("torch.cov(z, correction=0, fweights=torch.tensor([1, 2, 3]))", "z"),
    ("torch.cov(z, aweights=torch.tensor([0.5, 0.1, 0.3]).double())", "z"), ("torch.corrcoef(x[0])", "x"),
    ("torch.corrcoef(x[0].t()[:3])", "x"),
]

VALUES = lines("""
i.sort(dim=1, stable=True), i.sort(dim=1, descending=True, stable=True), b.sort(), u.sort(descending=True)
h.sort(), n.sort()
n.sort(descending=True), e.sort(), e2.sort(0), i.argsort(dim=1, stable=True), n.argsort(0), f.argsort(descending=True)
big.flip(1).sort(1), big.sort(1, descending=True), bf.sort(descending=True, stable=True), f.sort(axis=0), i.msort()[0]
f.topk(2), f.topk(2, largest=False), i.topk(1, 0), e.topk(0), big.topk(3), big.topk(4, 1, False), n.topk(1)
f.kthvalue(2), i.kthvalue(1, 0), bf.kthvalue(3)
i.median(), e.median(), n.median(), n.nanmedian(), n.median(1)[0], n.nanmedian(1)[0], i.nanmedian(), h.median()
i.mode()[0], b.mode()[0], torch.tensor([3, 1, 3, 1, 2]).mode(), torch.tensor([[1, 1, 2], [3, 4, 4]]).mode(1, True)
n.quantile(0.5, 1), n.nanquantile(0.5, 1), f.quantile(torch.tensor([0., 1.]), 1, True), n.nanquantile(0.2)
f.quantile(0.25, interpolation='lower'), f.quantile(0.25, interpolation='higher')
torch.cov(i), torch.cov(f, correction=10), torch.cov(c), torch.corrcoef(i), torch.corrcoef(c)
torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([[0, 3], [4, 9]]))
torch.searchsorted(torch.tensor([1., 3., 5.]), 3, right=True), torch.searchsorted(torch.tensor([1, 3]), 2.5)
torch.searchsorted(torch.tensor([[1., 3.], [2., 4.]]), torch.tensor([[3.], [1.]]), side='right', out_int32=True)
torch.searchsorted(torch.tensor([5, 1, 3]), torch.tensor([2, 4]), sorter=torch.tensor([1, 2, 0]))
torch.bucketize(torch.tensor([[0., 3.], [4., 9.]]), torch.tensor([1., 3., 5.]), right=True)
torch.searchsorted(i8, 300), torch.searchsorted(u, -1), torch.bucketize(2**63, i[1]), f.sort(stable=None)
torch.bucketize(3, torch.tensor([1., 3.])), torch.bucketize(i, torch.tensor([0., 2.]))
torch.bucketize(f, torch.tensor([False, True])), torch.searchsorted(torch.tensor([False, True]), f)
torch.isin(i, torch.tensor([2, 3])), torch.isin(i, 2, invert=True), torch.isin(2, i)
i.unique(), i.unique(return_inverse=True, return_counts=True), n.unique(return_counts=True), b.unique(dim=0)
torch.tensor([[1, 2], [1, 2], [0, 3]]).unique(dim=0, return_inverse=True, return_counts=True)
torch.tensor([1, 1, 2, 2, 1]).unique_consecutive(True, True), e.unique_consecutive(), s.unique(), e2.unique(dim=1)
torch.tensor([[1, 1, 2], [3, 3, 3]]).unique_consecutive(return_inverse=True, return_counts=True, dim=1)
torch.bincount(torch.tensor([1, 1, 3])), torch.bincount(torch.tensor([1, 1, 3]), torch.tensor([0.5, 1., 2.]), 6)
torch.bincount(torch.tensor([1, 0]), torch.tensor([2, 3]))
torch.bincount(torch.tensor([], dtype=torch.int64), minlength=2)
f.histc(4), f.histc(3, 0, 2), f.histc(bins=2, min=5, max=6), h.histc(5), torch.ones(3).histc(2), e.histc(3)
f.histogram(3), f.histogram(4, range=(0., 2.)), f.histogram(torch.tensor([-2., 0., 3.]), weight=f.abs(), density=True)
torch.histogramdd(f[:, :2], [2, 3]), torch.histogramdd(f[:, :2], 2, range=[0., 1., -2., 2.], density=True)
""")

ERRORS = lines("""
f.sort(2)
c.sort()
c.argsort()
f.topk(5)
f.topk(-1)
f.topk(1, 0, 1)
f.topk(1, sorted=None)
f.sort(0, 1)
f.sort(stable=1)
f.argsort(0, 1)
f.argsort(stable=None)
b.topk(1)
torch.searchsorted(i[1], 2**70)
f.kthvalue(0)
f.kthvalue(9)
b.kthvalue(1)
b.median()
e2.median(1)
e2.mode(1)
i.quantile(0.5)
f.quantile(2.)
f.quantile(torch.tensor(2.))
f.quantile(torch.tensor([[0.1]]))
f.quantile(torch.tensor(0.5).double())
f.quantile(0.5, interpolation='x')
e.quantile(0.5)
torch.cov(b)
torch.cov(x)
torch.cov(f, fweights=f[0])
torch.cov(f, fweights=-torch.arange(3))
torch.cov(f, aweights=torch.ones(2))
torch.corrcoef(x)
torch.searchsorted(f, f[0])
torch.searchsorted(f, torch.tensor(1.))
torch.searchsorted(f[0], c)
torch.bucketize(c, f[0])
torch.bucketize(b, b[0])
torch.searchsorted(f[0], f, side='middle')
torch.searchsorted(f[0], f, side='left', right=True)
torch.searchsorted(f[0], f, sorter=torch.tensor([0, 1]))
torch.searchsorted(f[0], f, sorter=torch.tensor([0, 1, 7]))
torch.searchsorted(f[0], f, out=torch.empty(2, 3))
torch.bucketize(f, f)
torch.isin(1, 2)
torch.isin(c, c)
s.unique(dim=0)
e2.unique(dim=0)
torch.bincount(f)
torch.bincount(i)
torch.bincount(torch.tensor([-1]))
torch.bincount(torch.tensor([1]), minlength=-1)
torch.bincount(torch.tensor([1]), f)
i.histc()
f.histc(0)
f.histc(3, 2, 1)
n.histc()
i.histogram(3)
f.histogram(0)
f.histogram(f)
f.histogram(3, range=(1., 0.))
n.histogram(3)
torch.histogramdd(f, [2, 3])
""")

NODES = lines("""
x.sort()[0]
x.quantile(0.5)
x.quantile(torch.tensor([0.5, 1.]).double(), 1, True)
x.nanquantile(0.5, 0)
x.topk(1)[0]
x.kthvalue(1)[0]
x.median()
x.median(1)[0]
x.nanmedian()
x.mode()[0]
x.cummax(0)[0]
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


@pytest.mark.oracle
@pytest.mark.parametrize("expression", NODES)
def test_nodes_are_named_as_in_torch(expression):
    check_value(f"({expression}).grad_fn.name()")


# ---- by hand


def test_order_and_rank():
    x = flambeau.tensor([3.0, 1.0, 2.0, 1.0])
    values, indices = x.sort(stable=True)
    assert values.tolist() == [1, 1, 2, 3] and indices.tolist() == [1, 3, 2, 0]
    assert x.argsort(descending=True, stable=True).tolist() == [0, 2, 1, 3]
    assert x.topk(2).values.tolist() == [3, 2] and x.topk(2, largest=False).values.tolist() == [1, 1]
    assert x.kthvalue(3).values.item() == 2 and x.median().item() == 1 and x.mode().values.item() == 1
    assert x.quantile(0.5).item() == 1.5


def test_nan_is_the_largest():
    x = flambeau.tensor([1.0, float("nan"), 2.0])
    assert x.argsort().tolist() == [0, 2, 1] and x.argsort(descending=True).tolist() == [1, 2, 0]
    assert x.topk(1).indices.tolist() == [1]
    assert x.nanmedian().item() == 1


def test_long_rows_sort_like_numpy():
    x = np.random.default_rng(0).standard_normal((3, 1000)).astype(np.float32)
    t = flambeau.from_numpy(x)
    for descending in (False, True):
        values, indices = t.sort(1, descending)
        expected = -np.sort(-x, 1) if descending else np.sort(x, 1)
        np.testing.assert_array_equal(values.numpy(), expected)
        np.testing.assert_array_equal(np.take_along_axis(x, indices.numpy(), 1), expected)
    found = t.topk(5)
    np.testing.assert_array_equal(found.values.numpy(), -np.sort(-x, 1)[:, :5])
    np.testing.assert_array_equal(t.t().topk(5, 0).values.numpy().T, found.values.numpy())


def test_search_and_sets():
    edges = flambeau.tensor([1.0, 3.0, 5.0])
    assert flambeau.searchsorted(edges, flambeau.tensor([0.0, 3.0, 9.0])).tolist() == [0, 1, 3]
    assert flambeau.bucketize(flambeau.tensor([3.0]), edges, right=True).tolist() == [2]
    values, inverse, counts = flambeau.tensor([5, 3, 5]).unique(return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([3, 5], [1, 0, 1], [1, 2])
    assert flambeau.isin(flambeau.tensor([1, 2]), 2).tolist() == [False, True]


def test_counting():
    assert flambeau.bincount(flambeau.tensor([1, 1, 3])).tolist() == [0, 2, 0, 1]
    assert flambeau.tensor([0.0, 1.0, 1.0, 4.0]).histc(2).tolist() == [3, 1]
    hist, edges = flambeau.tensor([0.0, 1.0, 4.0]).histogram(2)
    assert hist.tolist() == [2, 1] and edges.tolist() == [0, 2, 4]


def test_statistics():
    x = flambeau.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    np.testing.assert_allclose(x.cov().numpy(), [[1, 2], [2, 4]])
    np.testing.assert_allclose(x.corrcoef().numpy(), np.ones((2, 2)), rtol=1e-6)


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: flambeau.zeros(3).topk(4), RuntimeError, r"k=4.*\[3\]"),
    (lambda: flambeau.zeros(3).kthvalue(0), RuntimeError, "out of range for dimension 0"),
    (lambda: flambeau.zeros(3).quantile(1.5), RuntimeError, "but got 1.5"),
    (lambda: flambeau.zeros(3).quantile(0.5, interpolation="x"), RuntimeError, "one of linear, lower"),
    (lambda: flambeau.bincount(flambeau.tensor([-1])), RuntimeError, "non-negative"),
    (lambda: flambeau.cov(flambeau.zeros(1, 1, 1)), RuntimeError, "3 dimensions"),
])
def test_messages_name_the_cause(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("dtype", [flambeau.int8, flambeau.uint8, flambeau.int16, flambeau.int32, flambeau.int64], ids=str)
def test_median_index_of_equal_integers_is_pytorchs(dtype):
    assert flambeau.median(flambeau.tensor([3, 3, 1], dtype=dtype), 0)[1].item() == 0
    assert flambeau.median(flambeau.tensor([1, 3, 3, 1, 3], dtype=dtype), 0)[1].item() == 1


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
@pytest.mark.parametrize("shape, fault", [((0, 0), "more than one"), ((2, 0), "aren't selected"), ((0, 2), None)])
def test_slices_without_elements(name, shape, fault):
    x = flambeau.zeros(shape)
    if fault is None:
        assert getattr(x, name)(dim=0).shape == (0, 2)
    else:
        with pytest.raises(RuntimeError, match=f"{fault}, so unique cannot be applied"):
            getattr(x, name)(dim=0)
