"""KL divergences: PyTorch's values for every registered pair, and their properties."""

import math
import warnings

import pytest

import flambeau
from _oracle import assert_same
from distributions._cases import build

D = flambeau.distributions

# Two members of every family that is in the table.
FAMILIES = {
    "Bernoulli": ["D.Bernoulli(P([0.2, 0.5]))", "D.Bernoulli(logits=P([0.3, -2.0]))", "D.Bernoulli(P([0.0, 1.0]))"],
    "Beta": ["D.Beta(P([0.5, 2.0]), P([0.7, 3.0]))", "D.Beta(P([1.5, 1.0]), P([2.0, 0.3]))"],
    "Binomial": ["D.Binomial(T([10.0, 10.0]), P([0.3, 0.6]))", "D.Binomial(T([10.0, 7.0]), P([0.5, 0.1]))"],
    "Categorical": ["D.Categorical(P([[0.2, 0.8, 0.0], [0.1, 0.3, 0.6]]))", "D.Categorical(P([[0.5, 0.5, 0.0], [0.0, 0.3, 0.7]]))"],
    "Cauchy": ["D.Cauchy(P([0.0, 1.0]), P([1.0, 3.0]))", "D.Cauchy(P([2.0, 1.0]), P([0.5, 3.0]))"],
    "ContinuousBernoulli": ["D.ContinuousBernoulli(P([0.2, 0.5]))", "D.ContinuousBernoulli(P([0.9, 0.4]))"],
    "Dirichlet": ["D.Dirichlet(P([[0.5, 2.0, 7.0], [1.0, 1.0, 1.0]]))", "D.Dirichlet(P([0.3, 4.0, 2.0]))"],
    "Exponential": ["D.Exponential(P([0.5, 2.0]))", "D.Exponential(P([1.5, 0.3]))"],
    "Gamma": ["D.Gamma(P([0.5, 20.0]), P([1.0, 3.0]))", "D.Gamma(P([2.0, 0.3]), P([0.7, 2.0]))"],
    "Geometric": ["D.Geometric(P([0.2, 0.7]))", "D.Geometric(P([0.5, 0.1]))"],
    "Gumbel": ["D.Gumbel(P([0.0, 1.0]), P([1.0, 3.0]))", "D.Gumbel(P([2.0, 0.5]), P([0.5, 2.0]))"],
    "HalfNormal": ["D.HalfNormal(P([1.0, 3.0]))", "D.HalfNormal(P([0.5, 4.0]))"],
    "Independent": ["D.Independent(D.Normal(P([[0.0, 1.0]]), P([1.0, 2.0])), 1)", "D.Independent(D.Normal(P([[2.0, 0.0]]), P([1.0, 0.3])), 1)"],
    "Laplace": ["D.Laplace(P([0.0, 1.0]), P([1.0, 3.0]))", "D.Laplace(P([2.0, 1.0]), P([0.5, 3.0]))"],
    "LowRankMultivariateNormal": ["D.LowRankMultivariateNormal(P([0.0, 1.0]), P([[1.0], [0.5]]), P([1.0, 2.0]))",
                                  "D.LowRankMultivariateNormal(P([[2.0, 1.0]] * 3), P([[0.3], [-0.5]]), P([0.4, 2.0]))"],
    "MultivariateNormal": ["D.MultivariateNormal(P([0.0, 1.0]), P([[2.0, 0.5], [0.5, 1.0]]))",
                           "D.MultivariateNormal(P([[1.0, 1.0]] * 3), P([[1.0, -0.2], [-0.2, 3.0]]))"],
    "Normal": ["D.Normal(P([0.0, 1.0]), P([1.0, 3.0]))", "D.Normal(P([2.0, 0.5]), P([0.5, 2.0]))"],
    "OneHotCategorical": ["D.OneHotCategorical(P([0.2, 0.8]))", "D.OneHotCategorical(P([0.5, 0.5]))"],
    "Pareto": ["D.Pareto(P([1.0, 0.5]), P([1.5, 3.0]))", "D.Pareto(P([0.7, 2.0]), P([0.5, 2.5]))"],
    "Poisson": ["D.Poisson(P([0.5, 5.0]))", "D.Poisson(P([2.0, 0.3]))"],
    "TransformedDistribution": ["D.LogNormal(P([0.0, 1.0]), P([1.0, 3.0]))", "D.LogNormal(P([2.0, 0.5]), P([0.5, 2.0]))"],
    "Uniform": ["D.Uniform(P([0.1, 0.5]), P([0.9, 2.0]))", "D.Uniform(P([-1.0, 0.4]), P([1.5, 2.5]))", "D.Uniform(P([0.5, -0.5]), P([0.6, 0.5]))"],
}
PAIRS = sorted((p.__name__, q.__name__) for p, q in D.kl._KL_REGISTRY if p is not D.ExponentialFamily)
# PyTorch says infinite also where the intervals have an end in common.
DIFFERENT = {("ContinuousBernoulli", "Uniform")}


def divergences(library, p, q):
    """Of all members of two families, with their gradients."""
    for first in FAMILIES[p]:
        for second in FAMILIES[q]:
            a, of_a = build(library, first, "float64")
            b, of_b = build(library, second, "float64")
            try:
                kl = library.distributions.kl_divergence(a, b)
            except NotImplementedError:
                yield "NotImplementedError", None
                continue
            finite = kl[kl.isfinite()].sum()
            wanted = of_a + of_b if finite.requires_grad else []
            found = library.autograd.grad(finite, wanted, allow_unused=True) if wanted else []
            yield kl, [0 * x if g is None else g for g, x in zip(found, wanted)]


@pytest.mark.oracle
@pytest.mark.parametrize("p, q", PAIRS)
def test_divergence_is_pytorchs(p, q):
    torch = pytest.importorskip("torch")
    for (kl, gradients), (want, want_gradients) in zip(divergences(flambeau, p, q), divergences(torch, p, q), strict=True):
        if (p, q) in DIFFERENT:
            continue
        if isinstance(want, str):
            assert kl == want
            continue
        assert_same(kl.broadcast_to(want.shape), want, rtol=1e-8, atol=1e-10)
        if want.isfinite().all():
            assert_same(gradients, want_gradients, rtol=1e-6, atol=1e-8)


@pytest.mark.oracle
def test_the_table_is_pytorchs():
    torch = pytest.importorskip("torch")
    assert [(p.__name__, q.__name__) for p, q in sorted(D.kl._KL_REGISTRY, key=str)] == [
        (p.__name__, q.__name__) for p, q in sorted(torch.distributions.kl._KL_REGISTRY, key=str)]


@pytest.mark.parametrize("p, q", [pair for pair in PAIRS if "Transformed" not in pair[0] and pair[0] != "Independent"])
def test_divergence_is_the_mean_of_log_ratios(p, q):
    """Estimated from draws."""
    flambeau.manual_seed(0)
    for first in FAMILIES[p][:1]:
        for second in FAMILIES[q]:
            a, b = build(flambeau, first, "float64")[0], build(flambeau, second, "float64")[0]
            try:
                kl = D.kl_divergence(a, b)
            except NotImplementedError:
                continue
            if not kl.isfinite().all():
                continue
            b._validate_args = False
            x = a.expand(kl.shape).sample((4000,))
            ratio = a.log_prob(x) - b.log_prob(x)
            error = 5 * ratio.std(0) / math.sqrt(len(x)) + 1e-6
            assert ((ratio.mean(0) - kl).abs() < error).all(), (first, second, ratio.mean(0), kl)


def test_infinite_divergence_has_the_shape_of_both():
    kl = D.kl_divergence(D.Normal(flambeau.zeros(3, 1), 1.0), D.Uniform(flambeau.zeros(2), 1.0))
    assert kl.shape == (3, 2) and (kl == math.inf).all()


def test_a_uniform_on_the_same_interval_is_finite():
    p = D.ContinuousBernoulli(flambeau.tensor(0.3))
    assert D.kl_divergence(p, D.Uniform(0.0, 1.0)).item() == pytest.approx(-p.entropy().item())


def test_bregman_divergence_is_the_closed_form():
    general = D.kl._KL_REGISTRY[D.ExponentialFamily, D.ExponentialFamily]
    for family in ("Bernoulli", "Beta", "ContinuousBernoulli", "Dirichlet", "Exponential", "Gamma", "Normal", "Poisson"):
        first, second = (build(flambeau, code, "float64")[0] for code in FAMILIES[family][:2])
        kl = D.kl_divergence(first, second)
        flambeau.testing.assert_close(general(first, second), kl, rtol=1e-6, atol=1e-9)
    with pytest.raises(NotImplementedError, match="different exponential families"):
        general(D.Normal(0.0, 1.0), D.Gamma(1.0, 1.0))


def test_subclasses_take_the_nearest_entry():
    class Left(D.Normal):
        pass

    class Right(Left):
        pass

    assert D.kl_divergence(Right(0.0, 1.0), Left(1.0, 1.0)).item() == 0.5
    before = dict(D.kl._KL_REGISTRY)
    try:
        D.register_kl(Left, D.Normal)(lambda p, q: "left")
        D.register_kl(D.Normal, Left)(lambda p, q: "right")
        assert D.kl_divergence(Right(0.0, 1.0), D.Normal(0.0, 1.0)) == "left"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert D.kl_divergence(Left(0.0, 1.0), Left(0.0, 1.0)) == "left"
        assert "Ambiguous kl_divergence(Left, Left)" in str(caught[0].message)
    finally:
        D.kl._KL_REGISTRY.clear()
        D.kl._KL_REGISTRY.update(before)
        D.kl._registry._memory.clear()


def test_what_is_not_there():
    with pytest.raises(NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type Normal and q type Weibull"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Weibull(1.0, 1.0))
    with pytest.raises(TypeError, match="Expected type_q to be a Distribution subclass"):
        D.register_kl(D.Normal, int)
