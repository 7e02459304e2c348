"""Distributions give PyTorch's results and samples."""

import warnings

import pytest

import flambeau
from _oracle import assert_same
from distributions._cases import CASES, build

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

each_case = pytest.mark.parametrize("name", CASES)
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
SINGLE, DOUBLE = {"rtol": 2e-5, "atol": 2e-6}, {"rtol": 1e-7, "atol": 1e-9}
LOOSE = {
    "LKJCholesky": {"rtol": 1e-4, "atol": 1e-4},  # 1 minus a sum of almost 1
    "Multinomial": SINGLE,  # PyTorch's counts are of single precision
    "VonMises": {"rtol": 1e-4, "atol": 1e-5},  # PyTorch's Bessel functions have seven digits at best
}

PROPERTIES = """
    tuple(d.batch_shape); tuple(d.event_shape); d.has_rsample; d.has_enumerate_support; d.support.event_dim
    d.support.is_discrete; repr(d.support); {k: repr(c) for k, c in d.arg_constraints.items()}; repr(d)
    d.mean; d.variance; d.stddev; d.mode; d.entropy(); d.perplexity()
    d.enumerate_support(); d.enumerate_support(expand=False); tuple(d.param_shape); repr(d)
"""
DENSITIES = """
    d.log_prob(v); d.log_prob(v[:1]); d.cdf(v); d.icdf(p); d.support.check(v); d.log_prob(-v - 1); d.log_prob(v * nan)
    d.log_prob(v[..., :1]); d.log_prob(v[None, None]); d.log_prob(v.sum().item()); repr(d)
"""
EXPANDED = """
    tuple(d.batch_shape); type(d).__name__; repr(d); d.mean; d.variance; d.entropy(); d.log_prob(v); d.sample((2,))
    d.enumerate_support(); d.expand((7, *d.batch_shape)).log_prob(v); d.expand((3,))
"""
RECORDED = """d.log_prob(v); d.entropy(); d.rsample((3,))"""
DIFFERENT = {  # what PyTorch answers otherwise, and why it is not followed
    ("Geometric", "tuple(d.param_shape)"),  # it has none
    ("Kumaraswamy", "d.mode"),  # nan, always
}
MISTAKES = {  # what it raises by mistake
    "GeneralizedPareto": "RuntimeError",  # for float64
    "Multinomial": "AttributeError",  # of what is expanded
    "Wishart": "RuntimeError",  # in backward of draws
}
# PyTorch's gradients of gamma and Dirichlet draws are approximations of three digits.
BY_QUANTILE = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart"}


def questions(text):
    return [question.strip() for line in text.strip().splitlines() for question in line.split(";")]


def ask(library, question, **names):
    """The answer, or the type of the exception; the generator is seeded."""
    library.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(question, {"nan": float("nan"), **names})
        except Exception as error:
            return type(error).__name__


def family(name):
    return name.partition(" ")[0]


def tolerance(name, dtype):
    single = dtype == "float32" or "number" in name
    return LOOSE.get(family(name), SINGLE if single else DOUBLE)


def check(text, name, ours, theirs, dtype="float32", **values):
    """Both distributions answer the questions alike; tensors in `values` are torch's."""
    own_values = {key: flambeau.tensor(value.numpy()) for key, value in values.items()}
    wrong = []
    for question in questions(text):
        got, want = ask(flambeau, question, d=ours, **own_values), ask(torch, question, d=theirs, **values)
        if isinstance(want, str) and want == MISTAKES.get(family(name)):
            continue
        same_place = flambeau.rand(1).item() == torch.rand(1).item()
        try:
            assert_same(got, want, **tolerance(name, dtype))
            assert same_place, "the generators are at different places afterwards"
        except AssertionError as error:
            if (family(name), question) not in DIFFERENT:
                wrong.append(f"{question}: {error}")
    assert not wrong, "\n".join(wrong)


def both(name, dtype="float32"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build(flambeau, CASES[name], dtype)[0], build(torch, CASES[name], dtype)[0]


def sample_of(theirs, shape=()):
    """What PyTorch draws; it warns that draws of matrices are singular, which they are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return theirs.sample(shape)


@each_case
@each_dtype
def test_properties(name, dtype):
    check(PROPERTIES, name, *both(name, dtype), dtype)


@each_case
@each_dtype
def test_draws(name, dtype):
    shapes = [(), (3,), (2, 20)]
    text = "; ".join(f"d.{method}({shape})" for method in ("sample", "rsample") for shape in shapes)
    check(text, name, *both(name, dtype), dtype)


@each_case
@each_dtype
def test_densities(name, dtype):
    ours, theirs = both(name, dtype)
    _, v = ours.sample((4,)), sample_of(theirs, (4,))
    p = torch.rand((4, *theirs.batch_shape), dtype=getattr(torch, dtype)) * 0.98 + 0.01
    check(DENSITIES, name, ours, theirs, dtype, v=v, p=p)


@each_case
def test_expanded(name):
    ours, theirs = both(name)
    _, v = ours.sample(), sample_of(theirs)
    check(EXPANDED, name, *[d.expand((5, 2, *d.batch_shape)) for d in (ours, theirs)], v=v)


def weighted(y):
    """A sum in which every element has its own weight."""
    weights = y.new_tensor([0.5 + i / y.numel() for i in range(y.numel())]).reshape(y.shape)
    return (y * weights).sum()


@each_case
@pytest.mark.parametrize("question", questions(RECORDED))
def test_gradients(name, question):
    """By every parameter."""
    gradients = []
    for library in (flambeau, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            d, parameters = build(library, CASES[name], "float64")
        library.manual_seed(5)
        y = ask(library, question, d=d, v=sample_of(d, (3,)))
        found = ask(library, "grad(weighted(y), x, allow_unused=True)", grad=library.autograd.grad, weighted=weighted, y=y,
                    x=parameters)
        found = found if isinstance(found, str) else [0 * x if g is None else g for g, x in zip(found, parameters)]
        gradients.append(y if isinstance(y, str) else found)
    if gradients[1] == MISTAKES.get(family(name)):
        return
    loose = {"rtol": 3e-3, "atol": 1e-4} if "rsample" in question and family(name) in BY_QUANTILE else None
    assert_same(*gradients, **(loose or tolerance(name, "float64")))
