"""Every op on concrete jax arrays, outside of a compiled program."""

import numpy as np
import pytest

import flambeau
from engines.xla_cases import FIRST, Case, chunks
from flambeau._tensor import wrap
from flambeau.engines import engine_of, engine_on

pytestmark = pytest.mark.jax

DEVICE = flambeau.device("xla")


@pytest.mark.parametrize("rows", chunks(FIRST))
def test_agrees_with_numpy(jax, rows):
    for case in map(Case, rows):
        arguments = jax.tree.map(jax.numpy.asarray, case.arguments())
        case.values = [jax.numpy.asarray(v) if isinstance(v, np.ndarray) else v for v in case.values]
        got = case.call(*arguments)
        assert all(engine_of(a) is engine_on(DEVICE) for a in jax.tree.leaves(got)), case.row
        case.check(got)


def test_a_tensor_moves_to_the_cpu_with_its_elements(jax):
    moved = wrap(jax.numpy.arange(3.0)).to("cpu", flambeau.float64)
    assert moved.device.type == "cpu" and moved.dtype is flambeau.float64 and moved.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_parameters_of_a_batch_norm_have_any_shape(jax, device):
    x = flambeau.arange(24.0, device=device).reshape(2, 3, 2, 2).sin()
    layer, other = flambeau.nn.BatchNorm2d(3, device=device), flambeau.nn.BatchNorm2d(3, device=device)
    other.weight = flambeau.nn.Parameter(layer.weight.detach().reshape(3, 1, 1, 1))
    for module in (layer, other):
        (module(x) * x).sum().backward()
    assert other.weight.grad.shape == (3, 1, 1, 1)
    flambeau.testing.assert_close(other.weight.grad.flatten(), layer.weight.grad)
