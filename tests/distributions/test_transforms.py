"""Transforms: PyTorch's values, inverses that invert, Jacobians that autograd confirms."""

import copy
import pickle

import pytest

import flambeau
from _oracle import assert_same, to_torch
from distributions._cases import build

D = flambeau.distributions

# Code of a transform, and the shape of an input.
TRANSFORMS = {
    "Abs": ("D.AbsTransform()", (4,)),
    "Affine": ("D.AffineTransform(1.5, -2.0)", (3,)),
    "Affine of tensors": ("D.AffineTransform(T([1.0, 2.0]), T([[-1.0], [3.0]]))", (2, 2)),
    "Affine of vectors": ("D.AffineTransform(T([1.0, 2.0]), T([0.5, 3.0]), event_dim=1)", (3, 2)),
    "Cat": ("D.CatTransform([D.ExpTransform(), D.identity_transform, D.SigmoidTransform()], dim=0, lengths=[1, 2, 2])", (5, 2)),
    "Cat of the last dimension": ("D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=-1)", (3, 2)),
    "Compose": ("D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.SigmoidTransform(), D.AffineTransform(-1.0, 2.0)])", (3,)),
    "Compose of nothing": ("D.identity_transform", (3,)),
    "Compose of vectors": ("D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.StickBreakingTransform()])", (2, 3)),
    "CorrCholesky": ("D.CorrCholeskyTransform()", (2, 6)),
    "CumulativeDistribution": ("D.CumulativeDistributionTransform(D.Normal(T(0.0), T(2.0)))", (4,)),
    "Exp": ("D.ExpTransform()", (4,)),
    "Independent": ("D.IndependentTransform(D.ExpTransform(), 1)", (3, 2)),
    "Inverse": ("D.ExpTransform().inv.inv", (3,)),
    "LowerCholesky": ("D.LowerCholeskyTransform()", (2, 3, 3)),
    "PositiveDefinite": ("D.PositiveDefiniteTransform()", (2, 3, 3)),
    "Power after Exp": ("D.ComposeTransform([D.ExpTransform(), D.PowerTransform(T([2.0, -0.5]))])", (3, 2)),
    "Reshape": ("D.ReshapeTransform((2, 3), (6,))", (4, 2, 3)),
    "Sigmoid": ("D.SigmoidTransform()", (4,)),
    "Softmax": ("D.SoftmaxTransform()", (2, 3)),
    "Softplus": ("D.SoftplusTransform()", (4,)),
    "Stack": ("D.StackTransform([D.ExpTransform(), D.AffineTransform(1.0, 3.0)], dim=1)", (3, 2)),
    "StickBreaking": ("D.StickBreakingTransform()", (2, 3)),
    "Tanh": ("D.TanhTransform()", (4,)),
    **{f"to {c}": (f"D.biject_to(D.constraints.{c})", shape) for c, shape in {
        "real": (3,), "positive": (3,), "greater_than(2.0)": (3,), "less_than(2.0)": (3,), "interval(-1.0, 3.0)": (3,),
        "unit_interval": (3,), "half_open_interval(0.0, 2.0)": (3,), "simplex": (2, 3), "corr_cholesky": (3,),
        "independent(D.constraints.positive, 1)": (2, 3), "nonnegative": (3,),
        "cat([D.constraints.positive, D.constraints.real], 0, [1, 2])": (3,),
        "stack([D.constraints.positive, D.constraints.unit_interval])": (2, 3),
    }.items()},
    **{f"optimizing to {c}": (f"D.transform_to(D.constraints.{c})", shape) for c, shape in {
        "simplex": (2, 3), "lower_cholesky": (3, 3), "positive_definite": (3, 3), "positive_semidefinite": (2, 2),
        "greater_than_eq(1.0)": (3,), "independent(D.constraints.unit_interval, 1)": (2, 3),
        "cat([D.constraints.positive, D.constraints.real], 0, [1, 2])": (3,),
        "stack([D.constraints.positive, D.constraints.unit_interval])": (2, 3),
    }.items()},
}
QUESTIONS = """
    t(x); t.inv(t(x)); t.log_abs_det_jacobian(x, t(x)); t.inv.log_abs_det_jacobian(t(x), x); t.sign; t.bijective
    t.domain.event_dim; t.codomain.event_dim; repr(t.domain); repr(t.codomain); repr(t); repr(t.inv); t.event_dim
    tuple(t.forward_shape(x.shape)); tuple(t.inverse_shape(t(x).shape)); t == t; t == t.inv; t.codomain.check(t(x))
    t.with_cache(1)(x); repr(t.with_cache(1)); tuple(t.forward_shape(())); tuple(t.inverse_shape(()))
"""
each_transform = pytest.mark.parametrize("name", TRANSFORMS)


def ask(question, **names):
    try:
        return eval(question, names)
    except Exception as error:
        return type(error).__name__


def make(name, library=flambeau):
    return build(library, TRANSFORMS[name][0], "float64")[0]


def input_for(name):
    flambeau.manual_seed(1)
    return flambeau.randn(TRANSFORMS[name][1], dtype=flambeau.float64)


@pytest.mark.oracle
@each_transform
def test_transform_is_pytorchs(name):
    torch = pytest.importorskip("torch")
    x, wrong = input_for(name), []
    for question in [q.strip() for line in QUESTIONS.strip().splitlines() for q in line.split(";")]:
        got, want = ask(question, t=make(name), x=x), ask(question, t=make(name, torch), x=to_torch(x))
        try:
            assert_same(got, want, rtol=1e-9, atol=1e-10)
        except AssertionError as error:
            wrong.append(f"{question}: {error}")
    assert not wrong, "\n".join(wrong)


@each_transform
def test_inverse_inverts(name):
    t, x = make(name), input_for(name)
    y = t(x)
    assert t.codomain.check(y).all()
    flambeau.testing.assert_close(t(t.inv(y)), y)
    if t.bijective:
        flambeau.testing.assert_close(t.inv(y), x)


SQUARE = [name for name, (_, shape) in TRANSFORMS.items() if make(name).bijective and make(name).forward_shape(shape) == shape]


@pytest.mark.parametrize("name", SQUARE)
def test_jacobian_is_that_of_autograd(name):
    """Of a whole batch at once: its Jacobian is a block of each event."""
    t, x = make(name), input_for(name)
    jacobian = flambeau.autograd.functional.jacobian(t, x).reshape(x.numel(), x.numel())
    flambeau.testing.assert_close(flambeau.linalg.slogdet(jacobian).logabsdet, t.log_abs_det_jacobian(x, t(x)).sum())


def test_jacobian_to_the_simplex_leaves_out_the_last_coordinate():
    t, x = D.StickBreakingTransform(), flambeau.randn(3, dtype=flambeau.float64)
    jacobian = flambeau.autograd.functional.jacobian(lambda x: t(x)[:-1], x)
    flambeau.testing.assert_close(flambeau.linalg.slogdet(jacobian).logabsdet, t.log_abs_det_jacobian(x, t(x)))


def test_jacobian_to_correlations_is_that_of_the_triangle():
    t, x = D.CorrCholeskyTransform(), flambeau.randn(6, dtype=flambeau.float64)
    triangle = lambda x: D.utils.tril_matrix_to_vec(t(x), -1)  # noqa: E731
    jacobian = flambeau.autograd.functional.jacobian(triangle, x)
    flambeau.testing.assert_close(flambeau.linalg.slogdet(jacobian).logabsdet, t.log_abs_det_jacobian(x, t(x)))


def test_cache_gives_the_very_input():
    t = D.ExpTransform(cache_size=1)
    x = flambeau.randn(3)
    y = t(x)
    assert t.inv(y) is x and t(x) is y and t.inv.inv is t
    assert D.ExpTransform().inv(y) is not x
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)


def test_copies_forget_their_inverse_and_cache():
    t = D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.ExpTransform()], cache_size=1)
    t(flambeau.zeros(2)), t.inv
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert other == t and (other.inv(flambeau.ones(2)) == 0).all()


def test_wrong_shapes():
    with pytest.raises(ValueError, match="different numbers of elements"):
        D.ReshapeTransform((2,), (3,))
    with pytest.raises(ValueError, match="Shape mismatch"):
        D.ReshapeTransform((2,), (1, 2)).forward_shape((3,))
    with pytest.raises(ValueError, match="not a flattened lower-diagonal number"):
        D.CorrCholeskyTransform().forward_shape((4,))
    with pytest.raises(ValueError, match="Too few dimensions"):
        D.IndependentTransform(D.ExpTransform(), 2)(flambeau.ones(3))
    with pytest.raises(ValueError, match=r"either \.domain\.event_dim or \.codomain\.event_dim"):
        _ = D.CorrCholeskyTransform().event_dim


def test_a_registry_takes_new_constraints():
    class Even(D.constraints.Constraint):
        pass

    registry = D.constraint_registry.ConstraintRegistry()
    registry.register(Even)(lambda constraint: "doubled")
    assert registry(Even()) == "doubled"
    with pytest.raises(NotImplementedError, match="Cannot transform _Real constraints"):
        registry(D.constraints.real)
    with pytest.raises(TypeError, match="either a Constraint subclass or instance"):
        registry.register(int, print)


@pytest.mark.oracle
def test_tables_of_registries_are_pytorchs():
    torch = pytest.importorskip("torch")
    for name in ("biject_to", "transform_to"):
        ours, theirs = (getattr(t.distributions, name)._registry for t in (flambeau, torch))
        assert {c.__name__ for c in ours} == {c.__name__ for c in theirs}
