"""Properties of all distributions: densities integrate to 1, sample moments, quantiles invert the cdf."""

import math
import re
import warnings

import pytest

import flambeau
from distributions._cases import CASES, build
from flambeau.distributions import (
    AffineTransform,
    Categorical,
    Dirichlet,
    Distribution,
    ExponentialFamily,
    ExpTransform,
    Gamma,
    Kumaraswamy,
    MixtureSameFamily,
    Normal,
    TransformedDistribution,
    VonMises,
    Wishart,
)

UNUSUAL = {  # whose moments are nan or infinite, or whose draws scatter too widely for estimates
    "Cauchy", "HalfCauchy", "FisherSnedecor", "InverseGamma", "Pareto", "StudentT", "Categorical", "VonMises",
}


def make(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # low degrees of freedom
        return build(flambeau, re.sub(r"\bP\(", "T(", CASES[name]), "float64")[0]


def ask(question, *args):
    """The answer, or None where the distribution has none."""
    try:
        return question(*args).detach()
    except NotImplementedError:
        return None


def has(name, method):
    flambeau.manual_seed(0)
    d = make(name)
    argument = (d.sample(),) if method in ("cdf", "icdf") else ()
    return ask(lambda *args: getattr(d, method)(*args), *argument) is not None


MOMENTS = [name for name in CASES if name.partition(" ")[0] not in UNUSUAL and not name.startswith(("Transformed", "Relaxed", "LKJ", "Logistic"))]
CUMULATIVE = [name for name in CASES if has(name, "cdf")]
INVERTIBLE = [name for name in CUMULATIVE if "Mixture" not in name and not name.startswith(("Gamma", "Chi2", "InverseGamma"))]


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_are_those_of_draws(name):
    flambeau.manual_seed(1)
    d, n = make(name), 3000
    x = d.sample((n,))
    error = 6 * x.std(0) / math.sqrt(n) + 1e-9
    assert ((x.mean(0) - d.mean).abs() <= error).all()
    deviations = (x - d.mean.detach()) ** 2
    error = 8 * deviations.std(0) / math.sqrt(n) + 1e-9
    assert ((deviations.mean(0) - d.variance).abs() <= error).all()


@pytest.mark.parametrize("name", [name for name in CASES if has(name, "entropy")])
def test_entropy_is_the_mean_of_minus_log_prob(name):
    flambeau.manual_seed(2)
    d, n = make(name), 3000
    d._validate_args = False
    density = d.log_prob(d.sample((n,))).detach()
    error = 6 * density.std(0) / math.sqrt(n) + 1e-6
    assert ((density.mean(0) + d.entropy()).abs() <= error).all()


@pytest.mark.parametrize("name", CUMULATIVE)
def test_density_is_the_slope_of_the_cdf(name):
    flambeau.manual_seed(3)
    d = make(name)
    x = d.sample((5,)).requires_grad_()
    slope, = flambeau.autograd.grad(d.cdf(x).sum(), x)
    rtol = 1e-3 if name == "ContinuousBernoulli" else 1e-5  # around a half its cdf is that of a uniform
    flambeau.testing.assert_close(slope, d.log_prob(x).exp(), rtol=rtol, atol=1e-8)


@pytest.mark.parametrize("name", INVERTIBLE)
def test_icdf_inverts_cdf(name):
    flambeau.manual_seed(4)
    d = make(name)
    x = d.sample((5,))
    flambeau.testing.assert_close(d.icdf(d.cdf(x)), x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if has(name, "enumerate_support")])
def test_probabilities_have_a_sum_of_one(name):
    d = make(name)
    total = d.log_prob(d.enumerate_support()).exp().sum(0)
    flambeau.testing.assert_close(total, flambeau.ones_like(total))


@pytest.mark.parametrize("name", CASES)
def test_draws_are_in_the_support(name):
    flambeau.manual_seed(5)
    d = make(name)
    x = d.sample((50,))
    assert x.shape == (50, *d.batch_shape, *d.event_shape) and not x.requires_grad
    assert d.support.check(x).all() and d.log_prob(x).shape == (50, *d.batch_shape)


def test_exponential_families_by_bregman():
    for name in ("Bernoulli of logits", "ContinuousBernoulli of logits", "Exponential", "Gamma", "Normal"):
        d = make(name)
        flambeau.testing.assert_close(ExponentialFamily.entropy(d), d.entropy(), rtol=1e-4, atol=1e-6)


def test_gamma_gradients_are_those_of_the_quantile():
    """Finite differences of the quantile, found by bisection of the distribution function."""
    a = flambeau.tensor([0.05, 0.7, 3.0, 50.0, 900.0], dtype=flambeau.float64)
    x = a * flambeau.tensor([0.3, 2.5, 0.6, 1.2, 1.01], dtype=flambeau.float64)
    u, h = flambeau.igamma(a, x), 1e-5 * a

    def quantile(a):
        low, high = flambeau.zeros_like(x), 100 * x + 10
        for _ in range(200):
            middle = (low + high) / 2
            below = flambeau.igamma(a, middle) < u
            low, high = flambeau.where(below, middle, low), flambeau.where(below, high, middle)
        return low

    slope = (quantile(a + h) - quantile(a - h)) / (2 * h)
    flambeau.testing.assert_close(flambeau._standard_gamma_grad(a, x), slope, rtol=1e-5, atol=0)


def test_gamma_gradients_are_continuous_at_large_shapes():
    """There are three formulas: at the borders they agree."""
    from flambeau.engines.numpy import implicit

    z = flambeau.linspace(-5, 5, 11, dtype=flambeau.float64)
    a = flambeau.full_like(z, implicit.NORMAL_FROM)
    x = a + a.sqrt() * z
    inside = flambeau._standard_gamma_grad(a, x)
    outside = flambeau._standard_gamma_grad(a * (1 + 1e-12), x)
    flambeau.testing.assert_close(inside, outside, rtol=1e-9, atol=0)


def test_dirichlet_gradients_are_those_of_normalized_gammas_on_average():
    """One draw has other gradients, but the gradient of a mean is the same."""
    flambeau.manual_seed(0)
    a = flambeau.tensor([0.5, 2.0, 4.0], dtype=flambeau.float64, requires_grad=True)
    weights = flambeau.tensor([1.0, -2.0, 0.5], dtype=flambeau.float64)
    drawn, = flambeau.autograd.grad((Dirichlet(a).rsample((20000,)) @ weights).mean(), a)
    exact, = flambeau.autograd.grad(Dirichlet(a).mean @ weights, a)
    flambeau.testing.assert_close(drawn, exact, rtol=0.05, atol=0.01)


def test_a_gradient_of_a_gradient_is_refused():
    a = flambeau.tensor([2.0], requires_grad=True)
    slope, = flambeau.autograd.grad(Gamma(a, 1.0).rsample().sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="_standard_gamma_grad"):
        slope.sum().backward()


def test_modes_are_where_densities_are_largest():
    for d in (Kumaraswamy(flambeau.tensor(3.0), flambeau.tensor(2.0)), make("Beta of numbers"), make("Weibull").expand((2,))):
        nearby = [d.log_prob((d.mode * f).nan_to_num(0.5)) for f in (0.97, 1.0, 1.03)]
        assert ((nearby[1] >= nearby[0]) | d.mode.isnan()).all() and ((nearby[1] >= nearby[2]) | d.mode.isnan()).all()


def test_von_mises_density_has_a_mass_of_one():
    x = flambeau.linspace(-math.pi, math.pi, 20001, dtype=flambeau.float64)[:-1]
    for kappa in (1e-3, 1.0, 30.0, 900.0):
        d = VonMises(flambeau.tensor(0.5, dtype=flambeau.float64), flambeau.tensor(kappa, dtype=flambeau.float64))
        assert (d.log_prob(x).exp().mean() * 2 * math.pi).item() == pytest.approx(1, rel=1e-8)


def test_mixtures_broadcast():
    d = MixtureSameFamily(Categorical(flambeau.ones(2)), Normal(flambeau.zeros(3, 2), 1.0))
    assert d.sample((4,)).shape == (4, 3) and d.log_prob(flambeau.zeros(3)).shape == (3,)


def test_gradients_reach_the_parameters_of_a_wishart():
    tril = flambeau.eye(2).requires_grad_()
    Wishart(flambeau.tensor(4.0), scale_tril=tril).rsample((3,)).sum().backward()
    assert tril.grad.abs().sum() > 0


def test_a_transformed_distribution_of_a_user():
    class Shifted(TransformedDistribution):
        def __init__(self, loc):
            super().__init__(Normal(loc, 1.0), [ExpTransform(), AffineTransform(1.0, 2.0)])

    d = Shifted(flambeau.zeros(3))
    assert isinstance(d, Distribution) and d.batch_shape == (3,) and (d.sample((2,)) > 1).all()
    assert d.log_prob(flambeau.full((3,), 3.0)) == pytest.approx(-0.5 * math.log(2 * math.pi) - math.log(2))
