"""Constraints, and the errors of distributions that name them."""

import pytest

import flambeau
from _oracle import check_code
from flambeau.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Geometric,
    LowRankMultivariateNormal,
    MultivariateNormal,
    Normal,
    Uniform,
)
from flambeau.distributions import constraints as C

VALUES = {
    "numbers": "torch.tensor([-1.0, 0.0, 0.3, 0.5, 1.0, 2.0, 3.0, inf, -inf, nan])",
    "integers": "torch.tensor([-1, 0, 1, 2, 3])",
    "vectors": "torch.tensor([[0.2, 0.8], [0.5, 0.6], [-0.5, 1.5], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [nan, 1.0]])",
    "matrices": "torch.tensor([[[1.0, 0.0], [0.5, 2.0]], [[1.0, 0.5], [0.5, 2.0]], [[1.0, 0.0], [0.6, 0.8]]])",
    "symmetric matrices": "torch.tensor([[[1.0, 0.5], [0.5, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])",
    "oblong": "torch.ones(3, 2, 4)",
    "a number": "torch.tensor(0.5)",
}
CONSTRAINTS = """
    boolean; real; positive; nonnegative; unit_interval; positive_integer; nonnegative_integer; integer_interval(0, 2)
    interval(-1, 2); half_open_interval(0.0, 1.0); greater_than(0.5); greater_than_eq(0.5); less_than(0.5); _IntegerLessThan(2)
    real_vector; simplex; one_hot; multinomial(2); independent(C.positive, 1); independent(C.positive, 2)
    lower_triangular; lower_cholesky; corr_cholesky; square; symmetric; positive_definite; positive_semidefinite
    cat([C.positive, C.real], 0, [1, 2]); cat([C.positive, C.real], -1); stack([C.positive, C.real], -1); dependent
    MixtureSameFamilyConstraint(C.positive); MixtureSameFamilyConstraint(C.simplex); dependent(event_dim=2)
    greater_than(torch.tensor(0.4)); cat([C.simplex, C.real], -2); stack([C.simplex, C.simplex], -2)
"""
CONSTRAINTS = [c.strip() for line in CONSTRAINTS.strip().splitlines() for c in line.split(";")]


@pytest.mark.oracle
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_constraint_is_pytorchs(constraint):
    head = f"C = torch.distributions.constraints; c = C.{constraint}; "
    for value in VALUES.values():
        check_code(head + f"c.check({value})", strides=False)
    for question in ("repr(c)", "c.event_dim", "c.is_discrete", "C.is_dependent(c)"):
        check_code(head + question)


@pytest.mark.oracle
@pytest.mark.parametrize("code", [
    "D.Normal(0.0, -1.0)", "D.Normal(nan, 1.0)", "D.Normal('a', 1.0)", "D.Bernoulli()", "D.Bernoulli(0.5, 0.5)", "D.Bernoulli(1.5)",
    "D.Bernoulli(0.5).log_prob(torch.tensor(0.3))", "D.Categorical(torch.tensor(1.0))", "D.Categorical(torch.tensor([0.0, 0.0]))",
    "D.Categorical(torch.ones(2)).log_prob(torch.tensor(2))", "D.Uniform(1.0, 0.0)", "D.Uniform(0.0, 1.0).log_prob(torch.tensor(2.0))",
    "D.Geometric(0.0)", "D.Beta(-1.0, 1.0)", "D.Dirichlet(torch.tensor(1.0))", "D.Dirichlet(torch.tensor([0.0, 1.0]))",
    "D.Binomial(-1, torch.tensor(0.5))", "D.Binomial(1.5, torch.tensor(0.5))", "D.Binomial(torch.tensor([1, 2]), torch.tensor(0.5)).entropy()",
    "D.Binomial(torch.tensor([1, 2]), torch.tensor(0.5)).enumerate_support()", "D.NegativeBinomial(1, torch.tensor(1.0))",
    "D.Multinomial(torch.tensor(2), torch.ones(2))", "D.Multinomial(2, torch.ones(2)).log_prob(torch.tensor([3.0, 0.0]))",
    "D.Independent(D.Normal(0.0, 1.0), 1)", "D.Independent(D.Bernoulli(torch.ones(2)), 1).enumerate_support()",
    "D.MultivariateNormal(torch.zeros(2))", "D.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2))",
    "D.MultivariateNormal(torch.zeros(2), -torch.eye(2))", "D.MultivariateNormal(torch.tensor(0.0), torch.eye(2))",
    "D.MultivariateNormal(torch.zeros(2), torch.ones(2))", "D.MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.3], [0.0, 1.0]]))",
    "D.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(3))", "D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2))",
    "D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(3))",
    "D.Wishart(0.5, torch.eye(2))", "D.LKJCholesky(1)", "D.LKJCholesky(3, -1.0)",
    "D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0))", "D.MixtureSameFamily(D.Categorical(torch.ones(2)), 3)",
    "D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(torch.zeros(2), 1.0))",
    "D.MixtureSameFamily(D.Categorical(torch.ones(3, 2)), D.Normal(torch.zeros(4, 2), 1.0))",
    "D.TransformedDistribution(D.Normal(0.0, 1.0), 3)", "D.TransformedDistribution(D.Normal(0.0, 1.0), [3])",
    "D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())", "D.TransformedDistribution(D.Normal(0.0, 1.0), D.AbsTransform()).log_prob(torch.tensor(1.0))",
    "D.RelaxedBernoulli(torch.tensor(1.0))", "D.VonMises(0.0, -1.0)", "D.Normal(0.0, 1.0).log_prob(torch.zeros(2, 3))",
    "D.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(3))", "D.Distribution().mean", "D.Distribution().mode", "D.Distribution().rsample()",
    "D.Distribution.set_default_validate_args(None)", "D.Normal(0.0, 1.0).expand((2, 3)).expand((4, 3))", "D.Weibull(0.0, 1.0)",
])
def test_mistakes_have_pytorchs_type(code):
    check_code("D = torch.distributions; " + code, strides=False)


def test_an_error_names_the_first_value_outside():
    scale = flambeau.tensor([[1.0, 2.0], [-3.0, -4.0]])
    with pytest.raises(ValueError) as caught:
        Normal(0.0, scale)
    message = str(caught.value)
    assert message.startswith("Expected parameter scale (Tensor of shape (2, 2)) of distribution Normal(loc: torch.Size([2, 2]), "
                              "scale: torch.Size([2, 2])) to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values:")
    assert message.endswith("The first is -3.0, at index (1, 0).")


@pytest.mark.parametrize("make, ending", [
    (lambda: Normal(0.0, -1.0), "The first is -1.0."),
    (lambda: Categorical(flambeau.tensor([[0.5, 0.5], [-1.0, 2.0]])), "The first is tensor([-1.,  2.]), at index (1,)."),
    (lambda: Bernoulli(0.5).log_prob(flambeau.tensor([0.0, 0.5])), "The first is 0.5, at index (1,)."),
    (lambda: Uniform(flambeau.zeros(2, 1), 1.0).log_prob(flambeau.tensor([0.0, 3.0])), "The first is 3.0, at index (0, 1)."),
    (lambda: LowRankMultivariateNormal(flambeau.zeros(2), flambeau.ones(2, 1), flambeau.tensor([1.0, -1.0])), "The first is tensor([ 1., -1.])."),
    (lambda: Geometric(flambeau.tensor([0.5, 0.0])), "The first is 0.0, at index (1,)."),
    (lambda: MultivariateNormal(flambeau.zeros(2), flambeau.tensor([[1.0, 0.5], [0.0, 1.0]])),
     "The first is tensor([[1.0000, 0.5000],\n        [0.0000, 1.0000]])."),
])
def test_the_first_value_outside(make, ending):
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value).endswith(ending)


class Loaded(Distribution):
    """A distribution of a user."""

    arg_constraints = {"probs": C.simplex}

    def __init__(self, probs, validate_args=None):
        self.probs = probs
        super().__init__(probs.shape[:-1], validate_args=validate_args)


def test_subclasses_declare_constraints():
    assert repr(Loaded(flambeau.tensor([0.5, 0.5]))) == "Loaded(probs: torch.Size([2]))"
    with pytest.raises(ValueError, match=r"parameter probs .* of distribution Loaded\(probs: torch.Size\(\[2\]\)\)"):
        Loaded(flambeau.tensor([0.5, 0.6]))
    Loaded(flambeau.tensor([0.5, 0.6]), validate_args=False)
    with pytest.raises(NotImplementedError):
        Loaded(flambeau.tensor([0.5, 0.5])).expand((3,))


def test_subclasses_without_constraints_are_told():
    class Silent(Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        d = Silent()
    with pytest.warns(UserWarning, match="does not define `support`"):
        d._validate_sample(flambeau.zeros(()))


def test_a_subclass_with_another_init_must_expand_itself():
    class Unit(Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    class Same(Normal):
        pass

    assert type(Same(0.0, 1.0).expand((2,))) is Same
    with pytest.raises(NotImplementedError, match="Subclass Unit of Normal that defines a custom __init__ method"):
        Unit(0.0).expand((2,))


def test_the_default_of_validation():
    Distribution.set_default_validate_args(False)
    try:
        Normal(0.0, -1.0)
        with pytest.raises(ValueError):
            Normal(0.0, -1.0, validate_args=True)
    finally:
        Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        Normal(0.0, -1.0)


def test_validation_under_vmap_and_jvp():
    """Of all samples at once."""
    scale = flambeau.tensor([1.0, 2.0])
    assert flambeau.func.vmap(lambda s: Normal(0.0, s).log_prob(s))(scale).shape == (2,)
    matrices = flambeau.stack([flambeau.eye(2), 2 * flambeau.eye(2)])
    assert flambeau.func.vmap(lambda m: MultivariateNormal(flambeau.zeros(2), m).log_prob(flambeau.ones(2)))(matrices).shape == (2,)
    flambeau.func.jvp(lambda s: Normal(0.0, s).log_prob(s), (scale,), (scale,))
    with pytest.raises(ValueError, match=r"parameter scale .* of distribution Normal to satisfy the constraint GreaterThan"):
        flambeau.func.vmap(lambda s: Normal(0.0, s).mean)(-scale)


@pytest.mark.jax
def test_validation_in_a_compiled_program():
    """It is part of the program."""
    density = flambeau.compile(lambda s: Normal(flambeau.zeros(2), s).log_prob(flambeau.ones(2)))
    for _ in range(3):
        density(flambeau.ones(2))
    with pytest.raises(ValueError, match=r"parameter scale .* of distribution Normal to satisfy the constraint GreaterThan"):
        density(-flambeau.ones(2))
