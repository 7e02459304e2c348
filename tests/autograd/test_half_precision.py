"""Gradients in half precision: what is summed is summed in float32, and rounded once."""

import numpy as np
import pytest

import flambeau

F = "t.nn.functional."
CALLS = {  # call: the shape of x
    F + "batch_norm(x, None, None, training=True)": (64, 8),
    F + "relu(t.nn.BatchNorm1d(8)(x))": (64, 8),
    "t.nn.Sequential(t.nn.BatchNorm1d(8), t.nn.ReLU())(x)": (64, 8),
    F + "instance_norm(x)": (8, 3, 25),
    F + "layer_norm(x, (5, 5))": (8, 3, 5, 5),
    F + "group_norm(x, 3)": (8, 6, 5, 5),
    F + "rms_norm(x, (8,))": (64, 8),
    F + "local_response_norm(x, 3)": (4, 8, 5),
    F + "interpolate(x, scale_factor=2, mode='linear')": (2, 3, 9),
    F + "interpolate(x, scale_factor=2, mode='bilinear')": (2, 3, 4, 4),
    F + "interpolate(x, scale_factor=2, mode='bicubic')": (2, 3, 4, 4),
    F + "interpolate(x, scale_factor=3)": (2, 3, 4, 4),
    F + "avg_pool2d(x, 3, 1)": (2, 3, 9, 9),
    F + "adaptive_avg_pool2d(x, (4, 5))": (2, 3, 9, 9),
    F + "embedding(t.arange(50) % 3, x)": (3, 4),
    F + "prelu(x, x[0])": (64, 8),
    "x.as_strided((50, 4), (0, 1))": (4,),
    "x.expand(50, 8)": (8,),
    "x.repeat(50)": (3,),
    "x[t.arange(50) % 3]": (3, 4),
    "x.gather(0, (t.arange(200) % 3).reshape(50, 4))": (3, 4),
    "x.cumsum(0)": (50,),
    "x.logcumsumexp(0)": (30,),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("call", CALLS)
def test_gradients_are_rounded_once(call, dtype):
    rng = np.random.default_rng(1)
    x = flambeau.tensor(rng.standard_normal(CALLS[call]) * 0.4 + 0.3).to(getattr(flambeau, dtype)).requires_grad_()
    exact = x.detach().double().requires_grad_()
    out, want = (eval(call, {"t": flambeau, "x": each}) for each in (x, exact.float()))
    g = flambeau.tensor(rng.standard_normal(out.shape) * 5 + 3).to(out.dtype)
    out.backward(g)
    want.backward(g.float())
    error = (x.grad.double() - exact.grad).abs().max() / exact.grad.abs().max()
    assert error <= 0.55 * flambeau.finfo(x.dtype).eps
