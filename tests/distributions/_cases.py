"""The distributions under test, as code in which ``D`` is the package and ``T`` creates a tensor.

Parameters are written ``P(...)``: a tensor that requires a gradient.
"""

CASES = {
    "Bernoulli": "D.Bernoulli(P([0.2, 0.5, 1.0]))",
    "Bernoulli of logits": "D.Bernoulli(logits=P([[0.3, -2.0]]))",
    "Bernoulli of a number": "D.Bernoulli(0.3)",
    "Beta": "D.Beta(P([0.5, 2.0, 7.0]), P([0.7, 3.0, 1.0]))",
    "Beta of numbers": "D.Beta(2.0, 3.0)",
    "Binomial": "D.Binomial(T([3, 10, 100]), P([0.2, 0.5, 0.9]))",
    "Binomial of logits": "D.Binomial(5, logits=P([0.3, -2.0]))",
    "Categorical": "D.Categorical(P([[1.0, 2.0, 3.0], [0.1, 0.0, 0.9]]))",
    "Categorical of logits": "D.Categorical(logits=P([1.0, -1.0, 0.5]))",
    "Cauchy": "D.Cauchy(P([0.0, 1.0]), P([1.0, 3.0]))",
    "Chi2": "D.Chi2(P([0.5, 3.0, 20.0]))",
    "ContinuousBernoulli": "D.ContinuousBernoulli(P([0.1, 0.4995, 0.5, 0.7]))",
    "ContinuousBernoulli of logits": "D.ContinuousBernoulli(logits=P([0.4, -3.0]))",
    "Dirichlet": "D.Dirichlet(P([[0.5, 2.0, 7.0], [0.3, 0.2, 0.1]]))",
    "Exponential": "D.Exponential(P([0.5, 2.0]))",
    "FisherSnedecor": "D.FisherSnedecor(P([1.0, 3.0, 12.0]), P([1.5, 3.0, 6.0]))",
    "Gamma": "D.Gamma(P([0.1, 1.0, 30.0]), P([1.0, 0.5, 3.0]))",
    "GeneralizedPareto": "D.GeneralizedPareto(P([0.0, 1.0, -1.0]), P([1.0, 2.0, 0.5]), P([0.0, 0.3, -0.4]))",
    "Geometric": "D.Geometric(P([0.2, 0.7, 1.0]))",
    "Geometric of logits": "D.Geometric(logits=P([0.4, -3.0]))",
    "Gumbel": "D.Gumbel(P([0.0, 1.0]), P([1.0, 3.0]))",
    "Gumbel of numbers": "D.Gumbel(0.5, 2.0)",
    "HalfCauchy": "D.HalfCauchy(P([1.0, 3.0]))",
    "HalfNormal": "D.HalfNormal(P([1.0, 3.0]))",
    "Independent": "D.Independent(D.Normal(P([[0.0, 1.0], [2.0, 3.0]]), P([1.0, 2.0])), 1)",
    "Independent of nothing": "D.Independent(D.Bernoulli(P([0.2, 0.5])), 0)",
    "InverseGamma": "D.InverseGamma(P([0.5, 1.5, 4.0]), P([1.0, 2.0, 3.0]))",
    "Kumaraswamy": "D.Kumaraswamy(P([0.5, 2.0]), P([3.0, 0.7]))",
    "LKJCholesky": "D.LKJCholesky(3, P([0.5, 1.0, 4.0]))",
    "LKJCholesky of a number": "D.LKJCholesky(4)",
    "Laplace": "D.Laplace(P([0.0, 1.0]), P([1.0, 3.0]))",
    "LogNormal": "D.LogNormal(P([0.0, 1.0]), P([1.0, 0.3]))",
    "LogisticNormal": "D.LogisticNormal(P([[0.0, 1.0], [0.5, -1.0]]), P([1.0, 0.3]))",
    "LowRankMultivariateNormal":
        "D.LowRankMultivariateNormal(P([[0.0, 1.0, 2.0]] * 2), P([[1.0], [0.5], [-0.3]]), P([1.0, 2.0, 0.5]))",
    "MixtureSameFamily":
        "D.MixtureSameFamily(D.Categorical(P([[0.3, 0.7]] * 3)), D.Normal(P([[-1.0, 1.0]] * 3), P([0.5, 1.0])))",
    "MixtureSameFamily of vectors":
        "D.MixtureSameFamily(D.Categorical(P([0.3, 0.7])), D.Independent(D.Normal(P([[-1.0, 1.0, 0.0]] * 2), P([[0.5], [1.0]])), 1))",
    "Multinomial": "D.Multinomial(7, P([[1.0, 2.0, 3.0], [0.1, 0.0, 0.9]]))",
    "Multinomial of logits": "D.Multinomial(3, logits=P([1.0, -1.0, 0.5]))",
    "MultivariateNormal": "D.MultivariateNormal(P([0.0, 1.0]), P([[2.0, 0.5], [0.5, 1.0]]))",
    "MultivariateNormal of precisions": "D.MultivariateNormal(P([[0.0, 1.0]] * 3), precision_matrix=P([[2.0, 0.5], [0.5, 1.0]]))",
    "MultivariateNormal of factors": "D.MultivariateNormal(P([0.0, 1.0]), scale_tril=P([[[2.0, 0.0], [0.5, 1.0]]] * 2))",
    "NegativeBinomial": "D.NegativeBinomial(T([0.5, 3.0, 10.0]), P([0.1, 0.5, 0.8]))",
    "NegativeBinomial of logits": "D.NegativeBinomial(4, logits=P([0.3, -2.0]))",
    "Normal": "D.Normal(P([0.0, 1.0]), P([1.0, 3.0]))",
    "Normal of numbers": "D.Normal(0.5, 2.0)",
    "OneHotCategorical": "D.OneHotCategorical(P([[1.0, 2.0, 3.0], [0.1, 0.0, 0.9]]))",
    "OneHotCategoricalStraightThrough": "D.OneHotCategoricalStraightThrough(logits=P([1.0, -1.0, 0.5]))",
    "Pareto": "D.Pareto(P([1.0, 0.5, 2.0]), P([0.5, 1.5, 3.0]))",
    "Poisson": "D.Poisson(P([0.5, 5.0, 40.0]))",
    "RelaxedBernoulli": "D.RelaxedBernoulli(T(0.7), P([0.2, 0.9]))",
    "RelaxedBernoulli of logits": "D.RelaxedBernoulli(T(2.0), logits=P([0.3, -2.0]))",
    "RelaxedOneHotCategorical": "D.RelaxedOneHotCategorical(T(0.7), P([[1.0, 2.0, 3.0], [0.1, 0.2, 0.9]]))",
    "StudentT": "D.StudentT(P([0.8, 1.5, 5.0]), P([0.0, 1.0, 2.0]), P([1.0, 2.0, 0.5]))",
    "TransformedDistribution":
        "D.TransformedDistribution(D.Normal(P([0.0, 1.0]), P([1.0, 0.5])), [D.AffineTransform(1.0, -2.0), D.SigmoidTransform()])",
    "TransformedDistribution that broadcasts":
        "D.TransformedDistribution(D.Uniform(P([0.1]), P([0.9])), [D.AffineTransform(P([1.0, 2.0]), P([[2.0], [3.0]])), D.TanhTransform()])",
    "TransformedDistribution of vectors":
        "D.TransformedDistribution(D.Normal(P([[0.0, 1.0]]), P([1.0, 0.5])), D.StickBreakingTransform())",
    "Uniform": "D.Uniform(P([0.0, -1.0]), P([1.0, 3.0]))",
    "VonMises": "D.VonMises(P([0.0, 1.0, -2.0]), P([0.000001, 1.0, 50.0]))",
    "Weibull": "D.Weibull(P([1.0, 2.0]), P([0.7, 3.0]))",
    "Wishart": "D.Wishart(T([3.0, 5.0]), P([[2.0, 0.5], [0.5, 1.0]]))",
    "Wishart of factors": "D.Wishart(T(4.0), scale_tril=P([[[2.0, 0.0], [0.5, 1.0]]] * 2))",
}


def build(library, code, dtype="float32"):
    """(the distribution, its parameters) of a case."""
    parameters = []
    number = getattr(library, dtype)

    def parameter(values):
        parameters.append(library.tensor(values, dtype=number, requires_grad=True))
        return parameters[-1]

    names = {"D": library.distributions, "P": parameter, "T": lambda values: library.tensor(values, dtype=number)}
    return eval(code, names), parameters
