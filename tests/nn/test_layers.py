"""Every layer, one row each: compared with PyTorch, with recorded results, and after being copied."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import flambeau
from _layers import LAYERS
from _oracle import assert_same, to_array
from _programs import Programs, differences

programs = Programs("nn_layers.json")
each_layer = pytest.mark.parametrize("layer", LAYERS, ids=str)


def outputs(result):
    return [y for part in result for y in outputs(part)] if isinstance(result, tuple) else [result]


def run(layer, t, module=None, dtype=None):
    """(outputs, gradients of the inputs, gradients of the parameters) of one step of a layer."""
    module = module or layer.make(t)
    inputs = layer.arguments(t, dtype)
    found = outputs(module(*inputs))
    loss = sum((y * (y.detach() * 0.5 + 1)).sum() for y in found if y.is_floating_point())
    if loss.requires_grad:
        loss.backward()
    gradients = [x.grad for x in inputs if x.requires_grad]
    return found, gradients, [p.grad for p in module.parameters()]


def _record(layer):
    def program(t):
        module = layer.make(t)
        found, gradients, of_parameters = run(layer, t, module)
        return [repr(module), list(module.state_dict()), found, gradients, [g.sum() for g in of_parameters],
                list(module.parameters()), list(module.buffers())]

    program.__name__ = str(layer)
    return programs(program)


for _layer in LAYERS:
    _record(_layer)


@pytest.mark.parametrize("name", programs.names())
def test_layer_does_as_recorded(name):
    assert not differences(programs.run(name, flambeau), programs.recorded(name))


@pytest.mark.oracle
@each_layer
def test_layer_agrees_with_torch(layer):
    torch = pytest.importorskip("torch")
    theirs, ours = layer.make(torch), layer.make(flambeau)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert_same(list(run(layer, flambeau, ours)), list(run(layer, torch, theirs)), rtol=1e-4, atol=1e-5)
    assert repr(ours) == repr(theirs), "after the first call"
    assert type(ours).__name__ == type(theirs).__name__
    assert_same(list(ours.state_dict().values()), list(theirs.state_dict().values()), rtol=2e-6, atol=1e-7)
    ours.eval()
    theirs.eval()
    assert_same(list(run(layer, flambeau, ours)), list(run(layer, torch, theirs)), rtol=1e-4, atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("layer", [layer for layer in LAYERS if not layer.lazy], ids=str)
def test_layer_agrees_with_torch_in_double(layer):
    torch = pytest.importorskip("torch")
    theirs, ours = layer.make(torch).double(), layer.make(flambeau).double()
    ours.load_state_dict({k: flambeau.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    got = run(layer, flambeau, ours, flambeau.float64)
    assert_same(list(got), list(run(layer, torch, theirs, torch.float64)), rtol=1e-7, atol=1e-9)


def initialised(layer):
    """A layer that has been called once, so that a lazy one knows its shapes."""
    module = layer.make(flambeau)
    module(*layer.arguments(flambeau))
    return module


def same_step(layer, one, other, rtol=0, dtype=None):
    first, second = run(layer, flambeau, one), run(layer, flambeau, other, dtype)
    for a, b in zip(itertools.chain(*first), itertools.chain(*second), strict=True):
        np.testing.assert_allclose(to_array(b), to_array(a), rtol=rtol, atol=rtol)


@each_layer
def test_copy_of_a_layer_is_the_layer(layer):
    module = initialised(layer)
    twin = copy.deepcopy(module)
    assert all(a is not b for a, b in zip(module.parameters(), twin.parameters(), strict=True))
    assert repr(twin) == repr(module)
    same_step(layer, module, twin)


@each_layer
def test_pickled_layer_is_the_layer(layer):
    module = initialised(layer)
    twin = pickle.loads(pickle.dumps(module))
    assert repr(twin) == repr(module) and list(twin.state_dict()) == list(module.state_dict())
    same_step(layer, module, twin)


@each_layer
def test_loaded_layer_is_the_layer(layer):
    module, other = initialised(layer), layer.make(flambeau, seed=1)
    other.load_state_dict(module.state_dict())
    same_step(layer, module, other)


@each_layer
def test_layer_in_double_is_the_layer(layer):
    module = initialised(layer)
    twin = copy.deepcopy(module).double()
    assert all(p.dtype is flambeau.float64 for p in twin.parameters())
    same_step(layer, module, twin, 1e-4, flambeau.float64)


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer.lazy], ids=str)
def test_lazy_layer_copied_before_its_first_call(layer):
    module = layer.make(flambeau)
    twins = copy.deepcopy(module), pickle.loads(pickle.dumps(module))
    flambeau.manual_seed(3)
    want = module(*layer.arguments(flambeau))
    for twin in twins:
        assert twin.has_uninitialized_params() or not list(twin.parameters())
        flambeau.manual_seed(3)
        assert (twin(*layer.arguments(flambeau)) == want).all()
        assert type(twin) is type(module)


@pytest.mark.parametrize("kind", ["BatchNorm2d", "InstanceNorm2d"])
def test_state_dict_from_before_batches_were_counted(kind):
    module = getattr(flambeau.nn, kind)(2, track_running_stats=True)
    module.num_batches_tracked.add_(7)
    state = {k: v for k, v in module.state_dict().items() if k != "num_batches_tracked"}
    assert module.load_state_dict(state).missing_keys == []
    assert module.num_batches_tracked == 7


def test_statistics_that_are_not_tracked_are_not_loaded():
    tracked = flambeau.nn.InstanceNorm1d(2, track_running_stats=True)
    with pytest.raises(RuntimeError, match="track_running_stats=False"):
        flambeau.nn.InstanceNorm1d(2).load_state_dict(dict(tracked.state_dict()))


def test_momentum_none_averages_all_batches():
    norm = flambeau.nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 4.0, 7.0):
        norm(flambeau.tensor([[value - 1], [value + 1]]))
    assert norm.running_mean.tolist() == [4.0] and norm.num_batches_tracked == 3


def test_running_statistics_rest_in_evaluation_and_without_tracking():
    norm = flambeau.nn.BatchNorm1d(2).eval()
    norm(flambeau.ones(3, 2))
    assert norm.running_mean.tolist() == [0, 0] and norm.num_batches_tracked == 0
    assert flambeau.nn.BatchNorm1d(2, track_running_stats=False).running_mean is None


def test_result_may_be_overwritten_in_place():
    x = flambeau.randn(2, 3, 4, 4, requires_grad=True)
    for module in (flambeau.nn.BatchNorm2d(3), flambeau.nn.MaxPool2d(2), flambeau.nn.GroupNorm(3, 3),
                   flambeau.nn.Conv2d(3, 2, 2), flambeau.nn.AvgPool2d(2)):
        module(x).relu_().sum().backward()
    assert x.grad is not None


def test_embedding_from_pretrained():
    table = flambeau.arange(6.0).reshape(3, 2)
    frozen = flambeau.nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad and frozen.weight.data_ptr() == table.data_ptr()
    assert frozen(flambeau.tensor([2, 0])).tolist() == [[4, 5], [0, 1]]
    assert flambeau.nn.EmbeddingBag.from_pretrained(table, freeze=False).weight.requires_grad


def test_embedding_scales_down_long_rows_in_place():
    layer = flambeau.nn.Embedding(3, 2, max_norm=1.0)
    with flambeau.no_grad():
        layer.weight.copy_(flambeau.tensor([[3.0, 4.0], [0.3, 0.4], [3.0, 4.0]]))
    layer(flambeau.tensor([0, 1, 0]))
    np.testing.assert_allclose(layer.weight.detach().numpy(), [[0.6, 0.8], [0.3, 0.4], [3.0, 4.0]], rtol=1e-6)


def test_transposed_convolution_of_a_wanted_size():
    layer = flambeau.nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
    assert layer(flambeau.zeros(1, 1, 4, 4), output_size=[1, 1, 8, 7]).shape == (1, 1, 8, 7)
    with pytest.raises(ValueError, match=r"valid sizes are from \[7, 7\] to \[8, 8\]"):
        layer(flambeau.zeros(1, 1, 4, 4), output_size=[9, 7])


def test_unpooling_puts_elements_back():
    x = flambeau.tensor([[[1.0, 3.0, 2.0, 0.0]]], requires_grad=True)
    values, places = flambeau.nn.MaxPool1d(2, return_indices=True)(x)
    back = flambeau.nn.MaxUnpool1d(2)(values, places)
    assert places.tolist() == [[[1, 2]]] and back.tolist() == [[[0, 3, 2, 0]]]
    back.sum().backward()
    assert x.grad.tolist() == [[[0, 1, 1, 0]]]
