"""Every layer gives the same compiled as eagerly: results, gradients, buffers, random numbers."""

import pytest

import flambeau as torch
from _layers import LAYERS

pytestmark = pytest.mark.jax


def close(a, b):
    if a is None or b is None:
        assert a is b
    else:
        torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-5, equal_nan=True)


def compare(got, want):
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        close(a, b)


def outputs(result):
    return [result] if isinstance(result, torch.Tensor) else [y for part in result for y in outputs(part)]


def on(device, argument):
    """A leaf like `argument` on a device."""
    return argument if device == "cpu" else argument.detach().to(device).requires_grad_(argument.requires_grad)


def step(module, *arguments):
    """The results of a layer, and their gradients."""
    results = outputs(module(*arguments))
    losses = [r.abs().sum() for r in results if r.requires_grad]
    if losses:
        sum(losses).backward()
    return [r.detach() for r in results]


def calls(layer, module, step, device, modes):
    """What can be seen of steps, in training or not; from the second on they are on a device."""
    seen = []
    for nr, training in enumerate(modes):
        if nr == 1:
            module.to(device)
        if training != module.training:
            module.train(training).zero_grad()
        torch.manual_seed(nr)
        arguments = [on(device if nr else "cpu", a) for a in layer.arguments(torch)]
        tensors = [*step(module, *arguments), *[a.grad for a in arguments]]
        tensors += [p.grad for p in module.parameters() if p.grad is not None] + [*module.buffers()]
        assert nr == 0 or {t.device.type for t in tensors if t is not None} <= {device}
        seen += [t if t is None else t.cpu().clone() for t in tensors] + [torch.rand(1)]
    return seen


def draws_on_devices(layer):
    """Whether there are random numbers in a layer that a device draws itself."""
    return any((isinstance(m, torch.nn.modules.dropout._DropoutNd) and m.p > 0)
               or (isinstance(m, torch.nn.MultiheadAttention) and m.dropout > 0)
               for m in layer.make(torch).modules())


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layer_is_the_same_compiled(layer):
    """Its forward and backward are two programs."""
    plain, compiled = layer.make(torch), layer.make(torch)
    compiled.compile()
    modes = True, True, True, False, False  # in training or in evaluation
    compare(calls(layer, compiled, step, "cpu", modes), calls(layer, plain, step, "cpu", modes))


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_step_on_a_device_is_the_same_compiled(layer):
    """Forward and backward are one program."""
    plain, compiled = layer.make(torch), layer.make(torch)
    eager = "xla" if draws_on_devices(layer) else "cpu"
    modes = True, True, True
    compare(calls(layer, compiled, torch.compile(step), "xla", modes), calls(layer, plain, step, eager, modes))
