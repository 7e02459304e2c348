"""Programs of distributions: samples, densities, moments and divergences, and gradients of all of them."""

from .cases import differentiate
from .compare import is_tensor
from .writer import Row

P = "{0.5|torch.tensor([0.25, 0.75])|torch.tensor([[0.5], [0.125]])|torch.tensor(0.3)|torch.tensor([1.0, 0.0])}"
A = "{1.5|torch.tensor([0.5, 2.0])|torch.tensor([[0.5], [3.0]])|torch.tensor(2.0)|torch.tensor([0.25, 30.0])}"
X = "{0.0|torch.tensor([-0.5, 2.0])|torch.tensor([[0.5], [-3.0]])|torch.tensor(1.0)|torch.tensor([0.1, 0.2], dtype=torch.float64)}"
LOGITS = "logits={torch.tensor([0.5, -1.0])|0.25|torch.tensor([[0.0], [3.0]])}"
WEIGHTS = "{torch.tensor([0.25, 0.25, 0.5])|torch.tensor([[1.0, 2.0, 3.0], [1.0, 0.0, 1.0]])|torch.tensor([1.0])}"
MATRIX = "{torch.tensor([[2.0, 0.5], [0.5, 1.0]])|torch.eye(2).expand(3, 2, 2)|torch.eye(2) * 3}"
LOWER = "torch.tensor([[1.0, 0.0], [0.5, 2.0]])"
NAMES = {name: f"torch.distributions.{name}({arguments}{{||, validate_args=False}})" for name, arguments in {
    "Normal": f"{X}, {A}", "Laplace": f"{X}, {A}", "Cauchy": f"{X}, {A}", "Gumbel": f"{X}, {A}", "LogNormal": f"{X}, {A}",
    "HalfNormal": A, "HalfCauchy": A, "Exponential": A, "Gamma": f"{A}, {A}", "Beta": f"{A}, {A}", "Chi2": A,
    "Bernoulli": f"{{{P[1:-1]}|{LOGITS.replace('{', '').replace('}', '')}}}", "Geometric": P, "Poisson": A, "StudentT": f"{A}, {X}, {A}",
    "Binomial": f"{{3|torch.tensor([1.0, 5.0])}}, {P}", "NegativeBinomial": f"{{3|torch.tensor([1.0, 5.0])}}, {P}",
    "Categorical": WEIGHTS, "OneHotCategorical": WEIGHTS, "OneHotCategoricalStraightThrough": WEIGHTS,
    "Multinomial": f"{{3|1}}, {WEIGHTS}", "Dirichlet": WEIGHTS, "Uniform": f"{X}, {{3.0|torch.tensor([2.5, 4.0])|-5.0}}",
    "Pareto": f"{A}, {A}", "Weibull": f"{A}, {A}", "Kumaraswamy": f"{A}, {A}", "InverseGamma": f"{A}, {A}",
    "FisherSnedecor": f"{A}, {A}", "VonMises": f"{X}, {A}", "ContinuousBernoulli": P,
    "GeneralizedPareto": f"{X}, {A}, {A}", "LogitRelaxedBernoulli": f"torch.tensor(0.5), {P}", "RelaxedBernoulli": f"torch.tensor(0.5), {P}",
    "RelaxedOneHotCategorical": f"torch.tensor(0.5), {WEIGHTS}", "LogisticNormal": "torch.zeros(2), torch.tensor([1.0, 0.5])",
    "MultivariateNormal": f"torch.tensor([0.5, -1.0]), {{covariance_matrix=|precision_matrix=}}{MATRIX}",
    "LowRankMultivariateNormal": "torch.tensor([0.5, -1.0]), torch.tensor([[1.0], [0.5]]), torch.tensor([1.0, 2.0])",
    "Wishart": f"torch.tensor(3.0), {MATRIX}", "LKJCholesky": "{2|3}, {1.0|torch.tensor([0.5, 2.0])}",
    "Independent": "torch.distributions.Normal(torch.zeros({2|3, 2}), 1.0), {1|0|2|3}",
    "MixtureSameFamily": "torch.distributions.Categorical(torch.tensor([0.25, 0.75])), torch.distributions.Normal(torch.tensor([0.0, 1.0]), 1.0)",
    "TransformedDistribution": "torch.distributions.Normal(torch.zeros({2|1, 2}), 1.0), [TRANSFORMS]",
}.items()}
TRANSFORM = ["ExpTransform()", "AffineTransform(1.0, {2.0|-2.0})", "SigmoidTransform()", "TanhTransform()", "SoftplusTransform()",
             "PowerTransform(torch.tensor(2.0))", "AbsTransform()", "StickBreakingTransform()", "SoftmaxTransform()", "IndependentTransform("
             "torch.distributions.ExpTransform(), 1)", "ReshapeTransform((2,), (1, 2))", "CumulativeDistributionTransform("
             "torch.distributions.Normal(0.0, 1.0))", "ComposeTransform([torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.5, 2.0)])",
             "LowerCholeskyTransform()", "PositiveDefiniteTransform()", "CorrCholeskyTransform()", "CatTransform([torch.distributions.ExpTransform()])",
             "StackTransform([torch.distributions.ExpTransform(), torch.distributions.TanhTransform()], -1)"]
SIZE = "{|(3,)|(2, 1)|torch.Size([0])|2}"
READS = ["{d}.NAME".replace("NAME", name) for name in """mean variance stddev mode batch_shape event_shape has_rsample has_enumerate_support
    entropy() perplexity() enumerate_support() enumerate_support(expand=False) support.event_dim support.is_discrete""".split()] + [
    f"{{d}}.sample({SIZE})", f"{{d}}.sample({SIZE})", f"{{d}}.rsample({SIZE})", "repr({d})", "{d}.sample_n(2)",
    "type({d}.support).__name__", "str({d}.support)", "sorted({d}.arg_constraints)", "{d}.support.check({v})",
    "{d}.log_prob({v})", "{d}.log_prob({v})", "{d}.cdf({v})", "{d}.icdf({v}.sigmoid())", "{d}.log_prob({torch.tensor(1.0)|torch.tensor([0.25, 0.5])|"
    "torch.tensor([[1, 0]])|float('inf')|torch.tensor([0.25, 0.25, 0.5])|float('nan')})", "{d}.cdf(torch.tensor({0.25|[0.5, 1.5]|-1.0|float('nan')}))",
    "{d}.icdf(torch.tensor({0.25|[0.5, 1.5]|0.0|1.0}))", "{d}.expand({(2, 2)|(3, 1, 2)|torch.Size([])})", "{d}.{params|probs|logits|loc|scale|covariance_matrix|"
    "precision_matrix|scale_tril|concentration|base_dist|param_shape|df|rate|total_count|temperature|mixture_distribution}",
    "torch.distributions.kl_divergence({d}, {d})", "torch.distributions.kl_divergence({d}, {e})", "copy.deepcopy({d}).sample()",
    "pickle.loads(pickle.dumps({d})).sample()",
]
TRANSFORMS = ["{t}({v})", "{t}.inv({v})", "{t}.inv({t}({v}))", "{t}.log_abs_det_jacobian({v}, {t}({v}))", "repr({t})", "{t}.forward_shape(torch.Size([{2|3, 2}]))",
              "{t}.inverse_shape(torch.Size([3, 2]))", "{t}.bijective", "{t}.sign", "{t} == {t}", "{t}.with_cache(1)({v})", "{t}.domain.event_dim", "str({t}.codomain)",
              "torch.distributions.transform_to({t}.codomain)({v})", "torch.distributions.biject_to({t}.domain)({v})", "{t}.inv.inv == {t}"]
CONSTRAINTS = ["torch.distributions.constraints.{interval(-1., 2.)|positive|real|unit_interval|simplex|lower_cholesky|corr_cholesky|positive_definite|symmetric|"
               "greater_than(1.)|less_than(0.5)|half_open_interval(0., 1.)|nonnegative_integer|boolean|one_hot|integer_interval(0, 2)|square|lower_triangular|"
               "independent(torch.distributions.constraints.positive, 1)|stack([torch.distributions.constraints.real], 0)|real_vector|nonnegative|dependent}"]


def write(writer):
    """A distribution or two, or a transform, and what they answer."""
    writer.special = False
    writer.pick((distribution, distribution, distribution, transform, constraint))(writer)


def make(writer):
    name = writer.pick(list(NAMES))
    text = NAMES[name].replace("TRANSFORMS", transform_text(writer, 2))
    if writer.seldom(12):
        text = text.replace("|torch.tensor(0.3)", "|torch.tensor([0.5, 2.0])").replace("|torch.tensor(2.0)", "|torch.tensor([1.0, -1.0])|0.0")
        text = text.replace("False", "True")  # unchecked, invalid parameters give numbers without a meaning
    return name, writer.apply(Row(text))


def transform_text(writer, most=1):
    return ", ".join(f"torch.distributions.{writer.pick(TRANSFORM)}" for _ in range(writer.integer(1, most)))


def distribution(writer):
    name, d = make(writer)
    made = {"d": d}
    leaf = writer.seldom(3)
    if leaf:
        made["d"] = d = grown(writer, d)
    while not writer.seldom(6) and len(writer.pair.steps) < 10:
        text = writer.pick(READS)
        if "{e}" in text and "e" not in made:
            made["e"] = make(writer)[1] if writer.seldom(3) else writer.do(writer.pair.steps[0].template, **writer.pair.steps[0].arguments)
        if "{v}" in text and "v" not in made:
            made["v"] = writer.do(f"{{d}}.sample({writer.pick(('', '(3,)'))})", d=d)
        given = {key: value for key, value in made.items() if f"{{{key}}}" in text}
        y = writer.apply(Row(f"{text}  # {name}"), **given)
        if is_tensor(writer.pair.oracle[y]):
            differentiate(writer, y, name, inputs={"p": made["d"] + "p"} if leaf and made["d"] + "p" in writer.pair.oracle else {})


def grown(writer, d):
    """The distribution with parameters that require gradients."""
    text = writer.pair.steps[0].text.partition(" = ")[2]
    return writer.do(text.replace("])", "], requires_grad=True)").replace("dtype=torch.float64)", "dtype=torch.float64, requires_grad=True)"))


def transform(writer):
    t = writer.apply(Row(transform_text(writer)))
    v = writer.do("{x}", x=writer.pick(("torch.tensor([0.5, -1.0], requires_grad=True)", "torch.tensor([[0.25, 0.75], [1.5, -2.0]], requires_grad=True)",
                                        "torch.tensor([0.25, 0.125, 0.5])", "torch.tensor([[[2.0, 0.5], [0.5, 1.0]]])")))
    for _ in range(writer.integer(1, 4)):
        text = writer.pick(TRANSFORMS)
        mark = f"  # {type(writer.pair.oracle[t]).__name__}"
        y = writer.apply(Row(text + mark), t=t, **({"v": v} if "{v}" in text else {}))
        if is_tensor(writer.pair.oracle[y]):
            differentiate(writer, y, mark, inputs={"x": v})


def constraint(writer):
    c = writer.apply(Row(CONSTRAINTS[0]))
    v = writer.do("{x}", x=writer.pick(("torch.tensor([0.5, -1.0, 1.0])", "torch.tensor([[0.25, 0.75], [1.5, -2.0]])", "torch.tensor([1, 0])",
                                        "torch.tensor([0.25, 0.25, 0.5])", "torch.tensor([[1.0, 0.0], [0.5, 2.0]])", "torch.tensor([float('nan'), 0.0])")))
    for _ in range(writer.integer(1, 3)):
        text = writer.pick(("{c}.check({v})", "repr({c})", "{c}.event_dim", "{c}.is_discrete", "torch.distributions.transform_to({c})({v}.float())",
                            "torch.distributions.biject_to({c})({v}.float())", "torch.distributions.transform_to({c})"))
        writer.apply(Row(text), c=c, **({"v": v} if "{v}" in text else {}))
