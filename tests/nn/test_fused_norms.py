"""Fused batch norms and activations in training: one op, with the results and graphs of separate modules."""

import copy
import io
import pickle
import weakref
from multiprocessing.reduction import ForkingPickler

import pytest

import flambeau as t
import flambeau.multiprocessing
from flambeau import _tape as tape
from flambeau import nn
from flambeau.engines import NUMPY
from flambeau.nn import functional as F
from flambeau.nn.modules import _fused_norms, _fusion

ACTIVATIONS = {
    "ReluBackward0": nn.ReLU(), "ReluBackward0, in place": nn.ReLU(inplace=True), "HardtanhBackward0": nn.ReLU6(),
    "HardtanhBackward0, of ints": nn.Hardtanh(-1, 2), "LeakyReluBackward0": nn.LeakyReLU(0.2),
    "LeakyReluBackward1, in place": nn.LeakyReLU(0.1, inplace=True),
}
LAYERS = {
    "conv1d": (nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6), nn.Conv1d(6, 3, 2), (2, 4, 9)),
    "conv2d": (nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.Conv2d(6, 3, 1), (2, 4, 9, 8)),
    "depthwise": (nn.Conv2d(4, 8, 1), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, groups=8), (2, 4, 9, 8)),
    "conv3d": (nn.Conv3d(2, 3, 2), nn.BatchNorm3d(3), nn.Conv3d(3, 2, 2), (1, 2, 4, 5, 6)),
    "transposed": (nn.ConvTranspose2d(4, 6, 3), nn.BatchNorm2d(6), nn.ConvTranspose2d(6, 3, 2), (2, 4, 5, 8)),
}


@pytest.fixture
def runs(monkeypatch):
    """A list with an entry for each pair that was run as one op."""
    seen, run = [], _fused_norms.run_recorded

    def noting(*args):
        output = run(*args)
        if output is not None:
            seen.append(output.grad_fn.name())
        return output

    monkeypatch.setattr(_fused_norms, "run_recorded", noting)
    return seen


def model_of(*modules, dtype=t.float32):
    t.manual_seed(0)
    model = nn.Sequential(*[copy.deepcopy(module) for module in modules]).to(dtype)
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return model


def small(act=None, dtype=t.float32):
    """A model, and an input of it."""
    model = model_of(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), act or nn.ReLU(), nn.Conv2d(4, 2, 3), dtype=dtype)
    return model, t.randn(2, 2, 7, 8, dtype=dtype)


def one_by_one(model, x):
    for module in model:
        x = module(x)
    return x


def step(model, run, x):
    """The result, the gradients of everything, the buffers."""
    model, x = copy.deepcopy(model), x.clone().requires_grad_()
    y = run(model, x)
    (y * t.linspace(-1, 2, y.numel(), dtype=y.dtype).view(y.shape)).sum().backward()
    return y, [x.grad, *[p.grad for p in model.parameters()]], [*model.buffers()]


def check(model, x, tolerance=5e-5):
    ours, right = step(model, lambda model, x: model(x), x), step(model, one_by_one, x)
    assert t.equal(ours[0], right[0])
    assert ours[0].stride() == right[0].stride() and ours[0]._version == right[0]._version
    for a, b in zip(ours[1], right[1], strict=True):
        assert t.allclose(a, b, rtol=tolerance, atol=tolerance) and a.stride() == b.stride()
    assert all(t.equal(a, b) for a, b in zip(ours[2], right[2], strict=True))


# ---- results and graphs


@pytest.mark.parametrize("dtype", [t.float32, t.float64])
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
def test_as_one_by_one(layers, name, dtype, runs):
    first, norm, last, shape = layers
    act, x = ACTIVATIONS[name], t.randn(shape, dtype=dtype)
    check(model_of(first, norm, act, last, dtype=dtype), x)
    check(model_of(first, norm, act, dtype=dtype), x)
    check(model_of(norm, act, dtype=dtype), model_of(first, dtype=dtype)(x).detach())
    assert runs == 3 * [name.partition(",")[0]]


@pytest.mark.parametrize("norm", [
    nn.BatchNorm2d(4, momentum=None), nn.BatchNorm2d(4, momentum=0.7, eps=0.5),
    nn.BatchNorm2d(4, track_running_stats=False),
])
def test_settings_of_norms(norm, runs):
    check(model_of(nn.Conv2d(2, 4, 3), norm, nn.ReLU()), t.randn(2, 2, 7, 8))
    assert runs


def test_the_graph_is_that_of_two_modules(runs):
    model, x = small()
    shown = []
    for run in (nn.Sequential.forward, one_by_one):
        y = run(model, x)
        names, node = [], y.grad_fn
        while node is not None:
            names.append((node.name(), [None if n is None else n.name() for n, _ in node.next_functions]))
            node = node.next_functions[0][0]
        shown.append(names)
    assert runs and shown[0] == shown[1]


def test_hooks_on_the_nodes_of_both(runs):
    found = []
    for run in (nn.Sequential.forward, one_by_one):
        model, x = small()
        y, seen = run(model, x), []
        act = y.grad_fn.next_functions[0][0]
        for node in (act, act.next_functions[0][0]):
            node.register_hook(lambda to_inputs, _, seen=seen: seen.append(to_inputs[0].clone()))
        (y * y).sum().backward()
        found.append((seen, [p.grad for p in model.parameters()]))
    (ours, gradients), (right, its_gradients) = found
    assert runs and len(ours) == 2
    for a, b in zip(ours, right, strict=True):
        assert t.allclose(a, b, rtol=1e-4, atol=1e-4)
    for a, b in zip(gradients, its_gradients, strict=True):
        assert t.allclose(a, b, rtol=1e-4, atol=1e-3)


def test_second_derivatives(runs):
    model, x = small(nn.LeakyReLU(0.3), t.float64)
    x.requires_grad_()
    assert t.autograd.gradcheck(model, (x,))
    assert t.autograd.gradgradcheck(model, (x,))
    assert runs


@pytest.mark.parametrize("act", [nn.ReLU(), nn.ReLU6(), nn.Hardtanh(-1, 2), nn.LeakyReLU(0.3)], ids=str)
def test_the_gradient_of_the_bias_is_recorded(act, runs):
    model = model_of(nn.BatchNorm2d(3), act)
    x = t.randn(2, 3, 4, 4)
    assert [t.autograd.grad(run(model, x).sum(), model[0].bias, create_graph=True)[0].requires_grad
            for run in (nn.Sequential.forward, one_by_one)] == [True, True]
    assert runs


@pytest.mark.parametrize("value", [t.nan, t.inf, -t.inf])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_channels_that_are_not_finite(name, value, runs):
    model, x = model_of(nn.BatchNorm2d(3), ACTIVATIONS[name]), t.randn(2, 3, 5, 8)
    x[0, 1, 2, 3] = value
    ours, right = step(model, lambda model, x: model(x), x), step(model, one_by_one, x)
    assert runs
    for a, b in zip([ours[0], *ours[1]], [right[0], *right[1]], strict=True):
        assert t.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)


# ---- what is held


def test_the_result_is_not_held_for_the_convolution(runs):
    model, x = small()
    hidden = model[:3](x)
    memory = weakref.ref(hidden._a)
    y = model[3:](hidden)
    assert type(y.grad_fn.inputs[0]) is tape.Recomputed
    right = t.autograd.grad((F.conv2d(hidden.detach(), model[3].weight, model[3].bias) ** 2).sum(), model[3].weight)
    del hidden
    assert runs and memory() is None
    loss = (y**2).sum()
    for _ in range(2):
        ours = t.autograd.grad(loss, model[3].weight, retain_graph=True)
        assert t.allclose(ours[0], right[0], rtol=1e-5, atol=1e-4)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_the_convolution_needs_the_norm_neither_alive_nor_unchanged():
    model, x = small()
    hidden = model[:3](x)
    loss = (model[3:](hidden) ** 2).sum()
    right = t.autograd.grad(loss, model[3].weight, retain_graph=True)[0]
    hidden.sum().backward()  # frees what the norm has saved
    with t.no_grad():
        model[1].weight.mul_(2)
    assert t.equal(t.autograd.grad(loss, model[3].weight)[0], right)


def test_unneeded_gradients_are_not_computed(runs, monkeypatch):
    computed, own = [], NUMPY.conv_weight
    monkeypatch.setattr(NUMPY, "conv_weight", lambda *args: computed.append(1) or own(*args))
    model, x = small()
    x.requires_grad_()
    right = t.autograd.grad(one_by_one(model, x).sum(), x)[0]
    assert t.allclose(t.autograd.grad(model(x).sum(), x)[0], right, rtol=1e-4, atol=1e-4)
    assert runs and not computed


def test_a_write_to_the_bias_is_no_error(runs):
    gradients = []
    for run in (nn.Sequential.forward, one_by_one):
        model, x = small()
        loss = (run(model, x) ** 2).sum()
        with t.no_grad():
            model[1].bias.add_(1)
        gradients.append(t.autograd.grad(loss, [*model.parameters()]))
    assert runs
    for a, b in zip(*gradients, strict=True):
        assert t.allclose(a, b, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_what_the_activation_did_stays_when_parameters_change_uncounted(name, graph, runs):
    gradients = []
    for run in (nn.Sequential.forward, one_by_one):
        model, x = small(ACTIVATIONS[name], t.float64)
        loss = (run(model, x) ** 2).sum()
        for parameter in model[1].parameters():
            parameter.data.sub_(0.5)
        gradients.append(t.autograd.grad(loss, [*model.parameters()], create_graph=graph))
    assert runs
    for a, b in zip(*gradients, strict=True):
        assert t.allclose(a, b)


@pytest.mark.parametrize("lets_go", [False, True])
@pytest.mark.parametrize("last, saver", [(nn.Conv2d(4, 2, 3), "Convolution"), (nn.Softmax(1), "Relu")])
def test_writes_are_noticed(last, saver, lets_go):
    """Also to what nobody holds any more."""
    for run in (nn.Sequential.forward, one_by_one):
        model, x = small()
        model[3] = last
        hidden = run(model[:3], x)
        loss = run(model[3:], hidden).sum()
        with t.no_grad():
            hidden.add_(1)
        if lets_go:
            del hidden
        with pytest.raises(RuntimeError, match=f"saved by {saver}Backward0, is at version 1.* add_"):
            loss.backward()


@pytest.mark.parametrize("last", [[nn.ReLU(inplace=True), nn.Tanh()], [nn.Dropout(inplace=True), nn.Conv2d(4, 2, 1)]])
def test_writes_by_later_modules_are_noticed(last, runs):
    loss = model_of(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), *last)(t.randn(2, 2, 7, 8)).sum()
    with pytest.raises(RuntimeError, match="saved by ReluBackward0, is at version 1"):
        loss.backward()
    assert runs


def test_written_tensors_are_released_with_the_graph(runs):
    model, x = small()
    hidden = model[:3](x)
    loss, memory = model[3:](hidden).sum(), weakref.ref(hidden._a)
    with t.no_grad():
        hidden.add_(1)
    del hidden
    assert runs and memory() is not None
    del loss
    assert memory() is None


def doubled(x):
    x.data.mul_(2)


def doubled_by_numpy(x):
    x.detach().numpy()[...] *= 2


def doubled_unrecorded(x):
    with t.no_grad():
        x.mul_(2)


def hook_before(model, x, write):
    model[3].register_forward_pre_hook(lambda module, args: write(args[0]))
    return model(x)


def hook_behind(model, x, write):
    model[3].register_forward_hook(lambda module, args, output: write(args[0]))
    return model(x)


def own_forward(model, x, write):
    conv = model[3]

    def forward(input):
        output = nn.Conv2d.forward(conv, input)
        write(input)
        return output

    conv.forward = forward
    return model(x)


def between_models(model, x, write):
    hidden = model[:3](x)
    write(hidden)
    return model[3:](hidden)


def behind_models(model, x, write):
    model.hidden = model[:3](x)  # lives on
    output = model[3:](model.hidden)
    write(model.hidden)
    return output


def input_of_norm(model, x, write):
    x = model[:1](x)
    output = model[1:](x)
    write(x)
    return output


@pytest.mark.parametrize("write", [doubled, doubled_by_numpy, doubled_unrecorded])
@pytest.mark.parametrize("run", [hook_before, hook_behind, own_forward, between_models, behind_models, input_of_norm])
def test_writes_to_what_the_convolution_saves(run, write, runs, monkeypatch):
    found = []
    for unwatched in (_fusion.is_unwatched, lambda input: False):
        monkeypatch.setattr(_fusion, "is_unwatched", unwatched)
        model, x = small(nn.Hardtanh(-0.5, 0.7))
        weight = model[3].weight
        loss = (run(model, x, write) ** 2).sum()
        try:
            found += t.autograd.grad(loss, weight)
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            found.append(t.zeros(0))
    assert runs == ["HardtanhBackward0"] and t.allclose(*found, rtol=1e-4, atol=1e-4)


def saved_and_loaded(x):
    file = io.BytesIO()
    t.save(x, file)
    file.seek(0)
    return t.load(file)


@pytest.mark.parametrize("copied", [
    copy.deepcopy, saved_and_loaded, lambda x: pickle.loads(pickle.dumps(x)),
    lambda x: pickle.loads(ForkingPickler.dumps(x)),
], ids=["deepcopy", "save", "pickle", "multiprocessing"])
def test_results_are_copied(copied, runs):
    model, x = small()
    hidden = model[:3](x)
    loss = model[3:](hidden).sum()
    assert runs and t.equal(copied(hidden.detach()), hidden)
    loss.backward()


# ---- where modules run one by one


def unchanged(model, x, runs):
    ours, right = step(model, lambda model, x: model(x), x), step(model, one_by_one, x)
    assert not runs
    assert t.equal(ours[0], right[0]) and all(t.equal(a, b) for a, b in zip(ours[1], right[1], strict=True))


def test_other_layers_and_inputs(runs):
    conv, norm, x = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), t.randn(2, 2, 7, 8)
    unchanged(model_of(conv, norm, nn.SiLU()), x, runs)
    unchanged(model_of(conv, nn.BatchNorm2d(4, affine=False), nn.ReLU()), x, runs)
    unchanged(model_of(conv, norm, nn.ReLU()).eval(), x, runs)
    unchanged(model_of(conv, norm, nn.LeakyReLU(0.0)), x, runs)  # has negative zeros
    unchanged(model_of(norm, nn.ReLU()).to(t.bfloat16), t.randn(2, 4, 7, 8, dtype=t.bfloat16), runs)
    unchanged(model_of(nn.BatchNorm1d(4), nn.ReLU()), t.randn(9, 4), runs)
    unchanged(model_of(norm, nn.ReLU()), t.randn(2, 4, 7, 8).to(memory_format=t.channels_last), runs)
    unchanged(model_of(conv, norm, nn.ReLU()), t.randn(2, 2, 3, 3), runs)


def test_where_nothing_is_recorded(runs):
    model, x = small()
    with t.no_grad():
        right = one_by_one(copy.deepcopy(model), x)
        assert t.equal(model(x), right)
    assert not runs


def test_hooks_and_modes(runs, monkeypatch):
    model, x = small()
    model[2].register_forward_hook(lambda module, args, output: output + 1)
    unchanged(model, x, runs)
    model, x = small()
    seen = []
    with t.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        model(x)
    assert len(seen) > 6 and not runs
    monkeypatch.setattr(F, "relu", lambda input, inplace=False: input)
    assert t.equal(model(x), one_by_one(model, x)) and not runs


def test_errors(monkeypatch):
    said = []
    model = model_of(nn.BatchNorm2d(3), nn.ReLU())
    for unwatched in (_fusion.is_unwatched, lambda input: False):
        monkeypatch.setattr(_fusion, "is_unwatched", unwatched)
        for shape in ((2, 4, 9, 9), (2, 3, 9), (1, 3, 1, 1)):
            with pytest.raises(Exception) as error:
                model(t.randn(shape))
            said.append((error.type, str(error.value)))
    assert said[:3] == said[3:]
