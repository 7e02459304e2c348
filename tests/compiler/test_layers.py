"""Every layer does compiled what it does otherwise: results, gradients, buffers, random numbers."""

import pytest

import flambeau as torch
from _layers import LAYERS

pytestmark = pytest.mark.jax


def close(a, b):
    if a is None or b is None:
        assert a is b
    else:
        torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-5, equal_nan=True)


def outputs(result):
    return [result] if isinstance(result, torch.Tensor) else [y for part in result for y in outputs(part)]


def three_calls(layer, module, call):
    """What can be seen of three calls with backward."""
    seen = []
    for nr in range(3):
        torch.manual_seed(nr)
        arguments = layer.arguments(torch)
        results = outputs(call(*arguments))
        losses = [r.abs().sum() for r in results if r.requires_grad]
        if losses:
            sum(losses).backward()
        seen += [r.detach() for r in results] + [a.grad for a in arguments]
        seen += [p.grad.clone() for p in module.parameters() if p.grad is not None]
        seen += [b.clone() for b in module.buffers()] + [torch.rand(1)]
    return seen


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layer_is_the_same_compiled(layer, training):
    pytest.importorskip("jax", reason="the compiler needs jax")
    plain, compiled = layer.make(torch).train(training), layer.make(torch).train(training)
    compiled.compile()
    want, got = three_calls(layer, plain, plain), three_calls(layer, compiled, compiled)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        close(a, b)
