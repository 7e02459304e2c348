"""Products, attention, recurrent layers and norms are as accurate as PyTorch's, measured against float64.

The error of a result or gradient is the root of its mean square, relative to that of the values.
"""

import numpy as np
import pytest

import flambeau
from _oracle import to_array
from flambeau.engines.numpy import native

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not native.NAMES, reason="flambeau._kernels was not built, or is turned off"),
]

MOST = 1.2  # of PyTorch's error; single draws differ
EXACT = 2.0**-25  # an error that is that of rounding the result


def attention(t, q, k, v, causal):
    return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def recurrent(kind):
    def run(t, x, *weights):
        start = t.zeros(1, x.shape[1], weights[1].shape[1], dtype=x.dtype)
        states = (start, start) if kind == "lstm" else start
        return getattr(t, kind)(x, states, weights, True, 1, 0.0, False, False, False)[0]

    return run


def recurrent_shapes(gates, n=64):
    return [(20, 8, n), (gates * n, n), (gates * n, n), (gates * n,), (gates * n,)]


def linear(t, x, weight, bias):
    return t.nn.functional.linear(x, weight, bias)


# name: the function of a library and tensors; the shapes of these
CASES = {
    "linear, few rows": (linear, [(64, 512), (512, 512), (512,)]),
    "linear, many rows": (linear, [(1024, 192), (768, 192), (768,)]),
    "linear, long sums": (linear, [(128, 4096), (96, 4096), (96,)]),
    "matmul": (lambda t, a, b: a @ b, [(300, 700), (700, 200)]),
    "matmul of batches": (lambda t, a, b: a @ b, [(6, 50, 300), (6, 300, 40)]),
    "attention": (lambda t, q, k, v: attention(t, q, k, v, False), [(4, 3, 100, 64)] * 3),
    "causal attention": (lambda t, q, k, v: attention(t, q, k, v, True), [(4, 3, 100, 64)] * 3),
    "rnn": (recurrent("rnn_tanh"), recurrent_shapes(1)),
    "gru": (recurrent("gru"), recurrent_shapes(3)),
    "lstm": (recurrent("lstm"), recurrent_shapes(4)),
    "layer norm": (lambda t, x, w, b: t.nn.functional.layer_norm(x, x.shape[-1:], w, b), [(500, 384), (384,), (384,)]),
    "rms norm": (lambda t, x, w: t.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-6), [(500, 384), (384,)]),
}


def results_of(t, function, arrays, dtype):
    """What a function makes of arrays, and the gradients of these."""
    inputs = [t.tensor(a, dtype=getattr(t, dtype), requires_grad=True) for a in arrays]
    out = function(t, *inputs)
    weights = np.random.default_rng(1).standard_normal(tuple(out.shape)).astype(np.float32)
    out.backward(t.tensor(weights, dtype=getattr(t, dtype)))
    return [to_array(x) for x in (out, *[x.grad for x in inputs])]


def errors_of(results, exact):
    return [np.sqrt(np.mean((a - b) ** 2) / np.mean(b**2)) for a, b in zip(results, exact, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_no_less_accurate_than_pytorch(name):
    torch = pytest.importorskip("torch")
    function, shapes = CASES[name]
    rng = np.random.default_rng(0)
    arrays = [(rng.standard_normal(s) / (s[-1] ** 0.5 if len(s) == 2 else 1)).astype(np.float32) for s in shapes]
    exact = results_of(torch, function, arrays, "float64")
    ours, theirs = [errors_of(results_of(t, function, arrays, "float32"), exact) for t in (flambeau, torch)]
    for what, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert mine <= max(MOST * other, EXACT), f"result {what}: {mine:.2e}, PyTorch's {other:.2e}"
