"""gradcheck accepts correct and rejects wrong gradients, with PyTorch's tolerances."""

import itertools
import warnings

import pytest

import flambeau
from flambeau.nn import functional as F

PASSES, MISMATCH, NOT_REENTRANT = True, "Jacobian mismatch", "not reentrant"


def custom(t, forward, backward, materialize=True):
    """A Function of these two; backward is called with ctx and the gradients."""

    class Custom(t.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.set_materialize_grads(materialize)
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, *grads):
            return backward(ctx, *grads)

    return Custom.apply


def real(t, scale=1.0):
    return (t.arange(1, 4, dtype=t.float64) * scale / 7).requires_grad_()


def imaginary(t):
    return (t.arange(1, 4, dtype=t.float64) / 7 * (1 + 0.5j)).requires_grad_()


def square_with_error(error):
    return lambda t: (custom(t, lambda x: x * x, lambda c, g: g * 2 * c.saved_tensors[0] * (1 + error)), real(t, 10))


def tiny_slope_with_error(error):
    return lambda t: (custom(t, lambda x: x * 1e-6, lambda c, g: g * (1e-6 + error)), real(t))


def double(backward, materialize=True):
    """x * 2, with this backward."""
    return lambda t: (custom(t, lambda x: x * 2, lambda c, g: backward(t, g), materialize), real(t))


def pair(backward, materialize=False):
    return lambda t: (custom(t, lambda x: (x * 2, x * 3), lambda c, g, h: backward(g, h), materialize), real(t))


def complex_function(forward, backward):
    return lambda t: (custom(t, forward, backward), imaginary(t))


def drifting(step):
    def build(t):
        calls = itertools.count()
        return custom(t, lambda x: x * 2, lambda c, g: g * 2 + step * next(calls)), real(t)

    return build


def raises(error):
    raise error


# name: (function and inputs, what gradcheck says by default)
CASES = {
    **{f"relative error {e}": (square_with_error(e), PASSES if e < 1e-3 else MISMATCH)
       for e in (1e-2, 1.1e-3, 9e-4, 1e-5, 1e-8)},
    **{f"absolute error {e}": (tiny_slope_with_error(e), PASSES if e < 1e-5 else MISMATCH)
       for e in (1e-3, 1.1e-5, 9e-6, 1e-8)},
    "rounded to float32": (double(lambda t, g: (g / 3).float().double() * 6), PASSES),
    "a float32 gradient": (double(lambda t, g: (g * 2).float()), PASSES),
    "rounded to float16": (square_with_error(2.0**-9), MISMATCH),
    "a float32 function": (lambda t: (lambda x: x.float().exp().double(), real(t)), MISMATCH),
    "nan": (double(lambda t, g: g * float("nan")), MISMATCH),
    "nan in both": (lambda t: (lambda x: x * float("nan"), real(t)), MISMATCH),
    "infinite": (lambda t: (lambda x: x.sqrt(), t.zeros(2, dtype=t.float64, requires_grad=True)), MISMATCH),
    "a kink": (lambda t: (lambda x: x.relu(), t.zeros(2, dtype=t.float64, requires_grad=True)), MISMATCH),
    "not diagonal": (lambda t: (custom(t, lambda x: x.sum() * x, lambda c, g: g * c.saved_tensors[0].sum()), real(t)),
                     MISMATCH),
    "one output wrong": (pair(lambda g, h: g * 2 + h * 3.1, True), MISMATCH),
    "missing gradient": (lambda t: (custom(t, lambda x, y: x * 2 + y, lambda c, g: (g * 2, None)), (real(t), real(t))),
                         MISMATCH),
    "no gradient of a constant": (lambda t: (custom(t, lambda x, y: x * 2, lambda c, g: (g * 2, None)), (real(t), real(t))),
                                  PASSES),
    "detached": (lambda t: (lambda x: x.detach() * 2, real(t)), "expected to be zero"),
    "constant": (lambda t: (lambda x: x.detach() * 0, real(t)), PASSES),
    "drifts": (drifting(1e-9), NOT_REENTRANT),
    "not multiplied": (double(lambda t, g: g * 2 + 1e-9), "not multiplied by grad_output"),
    "None where None came": (pair(lambda g, h: None if g is None and h is None else
                                  (0 if g is None else g * 2) + (0 if h is None else h * 3)), PASSES),
    "zeros where None came": (double(lambda t, g: t.zeros(3, dtype=t.float64) if g is None else g * 2, False), PASSES),
    "ones where None came": (double(lambda t, g: t.ones(3, dtype=t.float64) if g is None else g * 2, False),
                             "undefined or zero"),
    "raises where None came": (double(lambda t, g: raises(RuntimeError("None")) if g is None else g * 2, False),
                               "handle undefined output grads"),
    "wrong where one None came": (pair(lambda g, h: None if g is None and h is None else
                                       h * 3 if g is None else g * 20 if h is None else g * 2 + h * 3), MISMATCH),
    "complex": (lambda t: (lambda x: x * x, imaginary(t)), PASSES),
    "complex to real": (lambda t: (lambda x: x.abs(), imaginary(t)), PASSES),
    "not conjugated": (complex_function(lambda x: x * x, lambda c, g: g * 2 * c.saved_tensors[0]), MISMATCH),
    "real part only": (complex_function(lambda x: x * x, lambda c, g: (g * 2 * c.saved_tensors[0].conj()).real + 0j), MISMATCH),
    "an imaginary part too much": (complex_function(lambda x: x.real.clone(), lambda c, g: g * (1 + 0.01j)), MISMATCH),
    "real to complex": (lambda t: (lambda x: x * (1 + 2j), real(t)), PASSES),
    "overlapping": (lambda t: (lambda x: x * x, t.ones(1, dtype=t.float64).expand(3).requires_grad_()), "stride 0"),
    "empty": (lambda t: (lambda x: x * 2, t.zeros(0, 3, dtype=t.float64, requires_grad=True)), PASSES),
    "transposed": (lambda t: (lambda x: x * x, t.ones(3, 2, dtype=t.float64).t().requires_grad_()), PASSES),
    "writes into its gradient": (double(lambda t, g: g.mul_(2)), PASSES),
}

SETTINGS = [{}, {"fast_mode": True}, {"check_undefined_grad": False}, {"nondet_tol": 1e-7}, {"check_grad_dtypes": True},
            {"check_batched_grad": True}, {"rtol": 1e-6, "atol": 1e-8}, {"rtol": 1e-9, "atol": 0.0}, {"eps": 1e-3}]


def verdict(t, build, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return t.autograd.gradcheck(*build(t), **settings)
        except (RuntimeError, ValueError) as error:
            return str(error)


@pytest.mark.parametrize("name", CASES)
def test_verdict(name):
    build, expected = CASES[name]
    found = verdict(flambeau, build)
    assert found is True if expected is True else expected in str(found)


@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_verdict_is_pytorchs(name):
    torch = pytest.importorskip("torch")
    build, expected = CASES[name]
    found = verdict(torch, build)
    assert found is True if expected is True else expected in str(found)
    for settings in SETTINGS:
        if name == "writes into its gradient" and (settings.keys() & {"fast_mode", "check_batched_grad"}):
            continue  # PyTorch's own check reuses what was overwritten
        assert (verdict(flambeau, build, **settings) is True) == (verdict(torch, build, **settings) is True), settings


def test_tight_tolerances_see_a_gradient_rounded_to_float32():
    build, _ = CASES["rounded to float32"]
    assert verdict(flambeau, build) is True
    assert MISMATCH in verdict(flambeau, build, rtol=1e-9, atol=1e-9)


def test_exceptions():
    x = real(flambeau)
    with pytest.raises(AssertionError, match="requires check_forward_ad"):
        flambeau.autograd.gradcheck(lambda x: x, x, check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="at least one of"):
        flambeau.autograd.gradcheck(lambda x: x, x, check_backward_ad=False)
    build, _ = CASES["nan"]
    assert flambeau.autograd.gradcheck(*build(flambeau), raise_exception=False) is False


@pytest.mark.parametrize("function", [F.relu, F.leaky_relu, F.hardtanh, F.hardshrink, F.softshrink, F.relu6, flambeau.abs,
                                      lambda x: F.threshold(x, 0.1, 2.0), lambda x: F.relu_(x * 1)])
def test_gradients_that_are_piecewise_constant(function):
    x = flambeau.linspace(-2.03, 7.01, 8, dtype=flambeau.float64).requires_grad_()
    assert flambeau.autograd.gradgradcheck(function, x)
    v = flambeau.ones(8, dtype=flambeau.float64, requires_grad=True)
    (slope,) = flambeau.autograd.grad(function(x), x, v, create_graph=True)
    assert flambeau.autograd.grad(slope.sum(), x)[0].tolist() == [0] * 8  # of the gradient, though not of its direction
