"""Every op on concrete jax arrays, outside a compiled program."""

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


@pytest.mark.filterwarnings("ignore:cov.*degrees of freedom")
@pytest.mark.parametrize("function", [
    lambda x: x.unique(return_inverse=True, return_counts=True), lambda x: x.unique(dim=0), flambeau.unique_consecutive, flambeau.histogram,
    flambeau.histc, lambda x: flambeau.histogramdd(x[:, None], [2]), lambda x: x.long().bincount(), lambda x: flambeau.isin(x, x[:1]),
    lambda x: x.nonzero(as_tuple=True), lambda x: flambeau.nonzero_static(x, size=4), lambda x: flambeau.unravel_index(x.long(), (2, 3)),
    lambda x: flambeau.repeat_interleave(x, x.long()), lambda x: flambeau.repeat_interleave(x.long()), flambeau.combinations,
    lambda x: flambeau.combinations(x, 0), lambda x: flambeau.segment_reduce(x, "mean", lengths=flambeau.tensor([2, 1])),
    lambda x: x.quantile(0.5), flambeau.corrcoef, lambda x: flambeau.cov(x[None][:, :0]), lambda x: flambeau.stft(x, 2, hop_length=1, return_complex=True),
    lambda x: flambeau.linalg.cond(x[:0, None].mT @ x[:0, None]), lambda x: flambeau.linalg.pinv(x[None], rtol=0.1),
])
def test_results_computed_on_the_host_return_to_the_device(jax, function):
    x = flambeau.tensor([2.0, 1.0, 2.0])
    got, want = (jax.tree.leaves(function(t), is_leaf=lambda t: isinstance(t, flambeau.Tensor)) for t in (x.to(DEVICE), x))
    assert {t.device.type for t in got} == {"xla"}
    flambeau.testing.assert_close([t.cpu() for t in got], want, equal_nan=True)


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_parameters_of_a_batch_norm_have_any_shape(jax, device):
    x = flambeau.arange(24.0, device=device).reshape(2, 3, 2, 2).sin()
    layer, other = flambeau.nn.BatchNorm2d(3, device=device), flambeau.nn.BatchNorm2d(3, device=device)
    other.weight = flambeau.nn.Parameter(layer.weight.detach().reshape(3, 1, 1, 1))
    for module in (layer, other):
        (module(x) * x).sum().backward()
    assert other.weight.grad.shape == (3, 1, 1, 1)
    flambeau.testing.assert_close(other.weight.grad.flatten(), layer.weight.grad)
