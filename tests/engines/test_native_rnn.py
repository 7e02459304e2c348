"""The native kernels of whole sequences against ops that run step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau
from engines.test_native import FLOATS, needs_native, width  # noqa: F401
from flambeau import nn
from flambeau.engines import NUMPY

NETWORKS = {
    "LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN, "RNN_RELU": lambda *a, **k: nn.RNN(*a, nonlinearity="relu", **k),
}
KERNELS = [f"{cell}_sequence{pull}" for cell in ("lstm", "gru", "rnn") for pull in ("", "_pull")]
SPECIAL = [np.inf, -np.inf, np.nan, 1e30, 1e-40]


def outcomes(network, x, states, weights):
    """Output, last states and all gradients; None stands for states that are zeros."""
    x = x.clone().requires_grad_()
    output, ends = network(x, states)
    ends = list(ends) if isinstance(ends, tuple) else [ends]
    results = [output, *ends]
    loss = sum([(r * w).sum() for r, w in zip(results, weights, strict=True) if w is not None])
    grads = flambeau.autograd.grad(loss, [x, *network.parameters()], allow_unused=True)
    return [r.detach().numpy() for r in (*results, *grads) if r is not None]


def both(monkeypatch, network, x, states, weights):
    """With the kernels, and with those that say that there is none."""
    with np.errstate(all="ignore"):
        ours = outcomes(network, x, states, weights)
        with monkeypatch.context() as patch:
            for name in KERNELS:
                patch.setattr(NUMPY, name, getattr(NUMPY, name).__wrapped__)
            return ours, outcomes(network, x, states, weights)


@needs_native
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_sequence_is_all_its_steps(data):
    draw = data.draw
    kind, dtype = draw(st.sampled_from(sorted(NETWORKS))), draw(st.sampled_from((flambeau.float32, flambeau.float64)))
    times, batch, features, hidden = [draw(st.integers(1, most)) for most in (6, 30, 4, 40)]
    flambeau.manual_seed(draw(st.integers(0, 1000)))
    options = {name: draw(st.booleans()) for name in ("bias", "batch_first", "bidirectional")}
    network = NETWORKS[kind](features, hidden, draw(st.integers(1, 2)), **options).to(dtype)
    x = flambeau.randn(*((batch, times) if options["batch_first"] else (times, batch)), features, dtype=dtype)
    output, ends = network(x)
    states = None
    if draw(st.booleans()):
        states = tuple([flambeau.randn_like(e) for e in ends]) if kind == "LSTM" else flambeau.randn_like(ends)
    results = [output, *(ends if kind == "LSTM" else [ends])]
    weights = [flambeau.randn_like(r) if draw(st.booleans()) else None for r in results]
    if all([w is None for w in weights]):
        weights[-1] = flambeau.ones_like(results[-1])
    with pytest.MonkeyPatch.context() as monkeypatch:
        ours, steps = both(monkeypatch, network, x, states, weights)
    tolerance = 1e-4 if dtype is flambeau.float32 else 1e-10
    for a, b in zip(ours, steps, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@needs_native
@pytest.mark.parametrize("value", SPECIAL, ids=str)
@pytest.mark.parametrize("kind", sorted(NETWORKS))
def test_what_is_not_finite_spreads_as_in_steps(kind, value, monkeypatch):
    flambeau.manual_seed(0)
    network = NETWORKS[kind](3, 17)
    x = flambeau.randn(4, 9, 3)
    x[1, 2, 0] = value
    weights = [flambeau.ones_like(network(x)[0]), *[None] * (2 if kind == "LSTM" else 1)]
    ours, steps = both(monkeypatch, network, x, None, weights)
    for a, b in zip(ours, steps, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@needs_native
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_with_any_strides(dtype):
    rng = np.random.default_rng(0)
    x, h, w = (rng.standard_normal(shape).astype(dtype) for shape in ((3, 5, 28), (5, 7), (28, 7)))
    _, cells, gates = NUMPY.lstm_sequence(x, h, h, w, False)
    g = rng.standard_normal((5, 3, 7)).astype(dtype).swapaxes(0, 1)
    found = NUMPY.lstm_sequence_pull(g, None, None, gates, cells, h, w, False)
    wanted = NUMPY.lstm_sequence_pull(np.ascontiguousarray(g), None, None, gates, cells, h, w, False)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@needs_native
@pytest.mark.parametrize("name", KERNELS)
def test_what_has_no_kernel_is_left_to_the_steps(name):
    kernel = getattr(NUMPY, name)
    half = np.ones((2, 2, 2), np.float16)
    count = {"lstm_sequence": 5, "lstm_sequence_pull": 8, "gru_sequence": 5, "gru_sequence_pull": 7}.get(name, 5)
    assert kernel(*[half] * (count - 1), False) is None
