"""Modules in a Sequential that run as one kernel: same results, and only if nothing observes the values between."""

import copy

import pytest

import flambeau as t
from flambeau import nn
from flambeau.nn import functional as F
from flambeau.nn.modules import _fusion

ACTIVATIONS = [
    nn.ReLU(), nn.ReLU(inplace=True), nn.ReLU6(), nn.Hardtanh(-0.5, 0.25), nn.LeakyReLU(0.2), nn.ELU(1.5), nn.SiLU(), nn.Mish(),
    nn.Hardswish(), nn.Hardsigmoid(), nn.GELU(), nn.GELU("tanh"), nn.Sigmoid(),
]
LAYERS = {
    "conv1d": (nn.Conv1d(4, 6, 3, padding=1), nn.BatchNorm1d(6), (2, 4, 9)),
    "conv2d": (nn.Conv2d(4, 6, 3, padding=1), nn.BatchNorm2d(6), (2, 4, 9, 8)),
    "conv2d without bias": (nn.Conv2d(4, 6, 1, bias=False), nn.BatchNorm2d(6, affine=False), (2, 4, 9, 8)),
    "conv2d, strides and dilation": (nn.Conv2d(4, 6, 3, 2, 2, 2, 2), nn.BatchNorm2d(6), (2, 4, 9, 8)),
    "conv2d, even kernel": (nn.Conv2d(4, 6, 2, padding="same"), nn.BatchNorm2d(6), (2, 4, 9, 8)),
    "depthwise": (nn.Conv2d(8, 8, 3, groups=8), nn.BatchNorm2d(8), (2, 8, 9, 8)),
    "winograd": (nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), (2, 32, 20, 20)),
    "conv3d": (nn.Conv3d(2, 3, 2), nn.BatchNorm3d(3), (1, 2, 4, 5, 6)),
    "one place": (nn.Conv2d(4, 6, 5), nn.BatchNorm2d(6), (2, 4, 5, 5)),
    "conv_transpose1d": (nn.ConvTranspose1d(4, 6, 3, 2), nn.BatchNorm1d(6), (2, 4, 9)),
    "conv_transpose2d": (nn.ConvTranspose2d(4, 6, 2, 3, output_padding=1), nn.BatchNorm2d(6), (2, 4, 9, 8)),
    "conv_transpose3d": (nn.ConvTranspose3d(2, 3, 2, bias=False), nn.BatchNorm3d(3), (1, 2, 4, 5, 6)),
}


def drawn(*modules, dtype=t.float32):
    """A Sequential of copies in eval mode, whose statistics are not those of the beginning."""
    t.manual_seed(0)
    model = nn.Sequential(*[copy.deepcopy(module) for module in modules]).eval().to(dtype)
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.uniform_(-1, 1)
    for module in model:
        if getattr(module, "running_var", None) is not None:
            module.running_var.abs_().add_(0.1)
    return model


def one_by_one(model, x):
    for module in model:
        x = module(x)
    return x


@pytest.fixture
def fused(monkeypatch):
    """A list with an entry for each kernel that was run for several modules."""
    seen = []
    compute = _fusion._compute
    monkeypatch.setattr(_fusion, "_compute", lambda *args: seen.append(args) or compute(*args))
    return seen


def check(model, x, fused, kernels=1, tolerance=1e-5):
    with t.no_grad():
        right, before = one_by_one(model, x), x.clone()
        ours = model(x)
    assert len(fused) == kernels
    assert ours.dtype is right.dtype and ours.shape == right.shape and ours.stride() == right.stride()
    assert t.allclose(ours, right, rtol=tolerance, atol=tolerance)
    assert t.equal(x, before)
    assert not ours.requires_grad and ours.grad_fn is None and ours._version == right._version


# ---- results


@pytest.mark.parametrize("act", ACTIVATIONS, ids=repr)
@pytest.mark.parametrize("case", LAYERS.values(), ids=LAYERS)
def test_convolution_norm_and_activation(case, act, fused):
    layer, norm, shape = case
    check(drawn(layer, norm, act), t.randn(shape), fused)


@pytest.mark.parametrize("dtype", [t.float32, t.float64])
@pytest.mark.parametrize("case", LAYERS.values(), ids=LAYERS)
def test_pairs(case, dtype, fused):
    layer, norm, shape = case
    x = t.randn(shape, dtype=dtype)
    check(drawn(layer, norm, dtype=dtype), x, fused)
    check(drawn(layer, nn.Hardswish(), dtype=dtype), x, fused, 2)
    check(drawn(norm, nn.SiLU(), dtype=dtype), layer.to(dtype)(x).detach(), fused, 3)
    layer.float()


@pytest.mark.parametrize("act", ACTIVATIONS, ids=repr)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(600, 64), (2, 300, 64), (2, 3, 100, 64)])
def test_linear_and_activation(shape, bias, act, fused):
    check(drawn(nn.Linear(64, 40, bias), act), t.randn(shape), fused)


def test_norm_of_rows(fused):
    check(drawn(nn.BatchNorm1d(7), nn.ReLU()), t.randn(5, 7), fused)


@pytest.mark.parametrize("case", [LAYERS[name] for name in ("conv2d", "winograd", "depthwise", "conv_transpose2d", "one place")])
def test_channels_last(case, fused):
    layer, norm, shape = case
    x, model = t.randn(shape), drawn(layer, norm, nn.ReLU())
    check(model, x.to(memory_format=t.channels_last), fused)
    check(model.to(memory_format=t.channels_last), x, fused, 2)
    check(drawn(norm, nn.ReLU()), layer(x).detach().to(memory_format=t.channels_last), fused, 3)


def test_views_and_slices(fused):
    x = t.randn(3, 9, 8, 10)
    check(drawn(nn.Conv2d(4, 6, 3), nn.ReLU()), x.permute(0, 2, 1, 3)[:, 1:8:2], fused)


def test_many_modules(fused):
    model = drawn(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 1), nn.Identity(), nn.BatchNorm2d(8),
        nn.SiLU(), nn.Conv2d(8, 4, 1), nn.ConvTranspose2d(4, 4, 2, 2), nn.Sigmoid(), nn.Flatten(), nn.Linear(4 * 14 * 14, 10),
    )
    check(model, t.randn(2, 3, 16, 16), fused, 3)


def test_inside_of_others(fused):
    inner = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
    check(nn.Sequential(inner, nn.Conv2d(8, 4, 1)).eval(), t.randn(2, 3, 9, 9), fused, 2)  # once in each of two calls


def test_in_inference_mode(fused):
    model, x = drawn(nn.Conv2d(3, 8, 3), nn.ReLU()), t.randn(2, 3, 9, 9)
    with t.inference_mode():
        ours = model(x)
    assert len(fused) == 1 and ours.is_inference()
    assert t.allclose(ours, one_by_one(model, x), atol=1e-6)


def test_frozen_modules_with_gradients_on(fused):
    model = drawn(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).requires_grad_(False)
    assert not model(t.randn(2, 3, 9, 9)).requires_grad
    assert len(fused) == 1


# ---- where modules run one by one


def model_of_three():
    return drawn(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())


def unchanged(model, x, fused):
    """The results are those of modules one by one, and there was no other kernel."""
    ours, right = model(x), one_by_one(model, x)
    assert t.equal(ours, right) and not fused
    return ours


def test_recorded(fused):
    model, x = model_of_three(), t.randn(2, 3, 9, 9)
    node = unchanged(model, x, fused).grad_fn
    names = []
    while node is not None and len(names) < 3:
        names.append(node.name())
        node = node.next_functions[0][0]
    assert names == ["ReluBackward0", "NativeBatchNormBackward0", "ConvolutionBackward0"]


def test_a_weight_or_an_input_that_requires_grad(fused):
    model, x = model_of_three().requires_grad_(False), t.randn(2, 3, 9, 9)
    assert unchanged(model, x.clone().requires_grad_(), fused).requires_grad
    model[1].bias.requires_grad_()
    assert unchanged(model, x, fused).requires_grad


def test_training(fused):
    model, x = model_of_three().train(), t.randn(2, 3, 9, 9)
    with t.no_grad():
        model(x)
    assert model[1].num_batches_tracked == 1
    assert len(fused) == 0
    with t.no_grad():
        drawn(nn.BatchNorm2d(3, track_running_stats=False), nn.ReLU())(x)
    assert not fused


@pytest.mark.parametrize("place", [0, 1, 2])
@t.no_grad()
def test_hooks(place, fused):
    model, x, seen = model_of_three(), t.randn(2, 3, 9, 9), []
    handle = model[place].register_forward_hook(lambda module, args, output: seen.append(output.shape))
    model(x)
    assert seen == [(2, 8, 7, 7)]
    assert len(fused) == (0 if place == 1 else 1)  # of the two that nobody watches, if they are neighbours
    handle.remove()
    fused.clear()
    check(model, x, fused)


@t.no_grad()
def test_hooks_on_all_modules(fused):
    model, x, seen = model_of_three(), t.randn(2, 3, 9, 9), []
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, output: seen.append(type(module)))
    try:
        unchanged(model, x, fused)
    finally:
        handle.remove()
    assert seen[:4] == [nn.Conv2d, nn.BatchNorm2d, nn.ReLU, nn.Sequential]
    check(model, x, fused)


@pytest.mark.parametrize("name", ["conv2d", "batch_norm", "relu"])
@t.no_grad()
def test_replaced_functions(name, fused, monkeypatch):
    model, x, seen, function = model_of_three(), t.randn(2, 3, 9, 9), [], getattr(F, name)
    monkeypatch.setattr(F, name, lambda *args, **kwargs: seen.append(name) or function(*args, **kwargs))
    model(x)
    assert seen == [name]


@pytest.mark.parametrize("place", [0, 1, 2])
@t.no_grad()
def test_replaced_forwards(place, fused, monkeypatch):
    x, seen = t.randn(2, 3, 9, 9), []
    for patched in (lambda model: model[place], lambda model: type(model[place])):
        model = model_of_three()
        target = patched(model)
        forward = target.forward
        with monkeypatch.context() as patch:
            patch.setattr(target, "forward", lambda *args, own=forward: seen.append(place) or own(*args))
            model(x)
    assert seen == [place, place]


@pytest.mark.parametrize(("place", "name"), [(2, "__call__"), (1, "_check_input_dim")])
@t.no_grad()
def test_replaced_methods(place, name, fused, monkeypatch):
    model, x, calls = model_of_three(), t.randn(2, 3, 9, 9), []
    cls = type(model[place])
    before = getattr(cls, name)
    monkeypatch.setattr(cls, name, lambda self, input: calls.append(name) or before(self, input))
    model(x)
    assert calls == [name]


@t.no_grad()
def test_modules_that_change_what_follows(fused):
    class Exchange(nn.Module):
        def forward(self, x):
            model[2] = nn.Tanh()
            return x

    class Grow(nn.Module):
        def forward(self, x):
            model.append(nn.ReLU())
            return x

    x = t.randn(2, 3, 9, 9)
    model = nn.Sequential(Exchange(), nn.Conv2d(3, 8, 3), nn.ReLU())
    assert t.equal(model(x), model[1](x).tanh()) and not fused
    model = nn.Sequential(Grow(), nn.Conv2d(3, 8, 3))
    with pytest.raises(RuntimeError, match=r"mutated|changed size"):
        model(x)


@t.no_grad()
def test_a_module_that_enters_a_mode(fused):
    class Enter(nn.Module):
        def forward(self, x):
            autocast.__enter__()
            return x

    autocast = t.autocast("cpu", dtype=t.bfloat16)
    model, x = nn.Sequential(Enter(), nn.Conv2d(3, 8, 3), nn.ReLU()), t.randn(2, 3, 9, 9)
    try:
        assert model(x).dtype is t.bfloat16 and not fused
    finally:
        autocast.__exit__(None, None, None)


@pytest.mark.parametrize("act", [nn.Hardtanh, nn.ReLU6])
@t.no_grad()
def test_bounds_in_the_wrong_order(act, fused):
    model = nn.Sequential(nn.Conv2d(3, 8, 3), act())
    model[1].min_val = 7.0
    with pytest.raises(ValueError, match="min_val cannot be greater than max_val"):
        model(t.randn(2, 3, 9, 9))


@t.no_grad()
def test_subclasses(fused):
    class Doubled(nn.ReLU):
        def forward(self, input):
            return 2 * super().forward(input)

    class Shifted(nn.Conv2d):
        def _conv_forward(self, input, weight, bias):
            return super()._conv_forward(input, weight, bias) + 1

    unchanged(drawn(Shifted(3, 8, 3), Doubled()), t.randn(2, 3, 9, 9), fused)


@t.no_grad()
def test_modes_and_subclasses_of_tensors(fused):
    class Log(t.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            names.append(function.__name__)
            return function(*args, **(kwargs or {}))

    class Named(t.Tensor):
        pass

    model, x, names = model_of_three(), t.randn(2, 3, 9, 9), []
    with Log():
        model(x)
    assert {"conv2d", "batch_norm", "relu"} <= {*names}
    assert type(model(x.as_subclass(Named))) is Named
    assert not fused


@t.no_grad()
def test_autocast(fused):
    model, x = model_of_three(), t.randn(2, 3, 9, 9)
    with t.autocast("cpu", dtype=t.bfloat16):
        assert unchanged(model, x, fused).dtype is t.bfloat16


@t.no_grad()
def test_profiles_see_all_modules(fused):
    model, x = model_of_three(), t.randn(2, 3, 9, 9)
    with t.profiler.profile() as profile:
        model(x)
    keys = {row.key for row in profile.key_averages()}
    assert not fused and {"aten::relu", "aten::convolution"} & keys


@t.no_grad()
def test_other_dtypes_and_ranks(fused):
    unchanged(model_of_three().to(t.bfloat16), t.randn(2, 3, 9, 9, dtype=t.bfloat16), fused)
    unchanged(drawn(nn.Conv2d(3, 8, 3), nn.ReLU()), t.randn(3, 9, 9), fused)
    unchanged(drawn(nn.Linear(4, 8), nn.ReLU()), t.randn(4), fused)
    unchanged(drawn(nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect"), nn.ReLU()), t.randn(2, 3, 9, 9), fused)
    assert model_of_three().to("meta")(t.randn(2, 3, 9, 9, device="meta")).shape == (2, 8, 7, 7)


# ---- what is wrong is said by the module that finds it


@pytest.mark.parametrize(("model", "shape", "dtype"), [
    (drawn(nn.Conv2d(3, 8, 3), nn.ReLU()), (2, 4, 9, 9), t.float32),
    (drawn(nn.Conv2d(3, 8, 3), nn.ReLU()), (2, 3, 2, 9), t.float32),
    (drawn(nn.Conv2d(3, 8, 3), nn.ReLU()), (2, 3, 9, 9), t.float64),
    (drawn(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(7), nn.ReLU()), (2, 3, 9, 9), t.float32),
    (drawn(nn.Conv2d(3, 8, 3), nn.BatchNorm1d(8), nn.ReLU()), (2, 3, 9, 9), t.float32),
    (drawn(nn.BatchNorm2d(3), nn.ReLU()), (2, 4, 9, 9), t.float32),
    (drawn(nn.BatchNorm2d(3), nn.ReLU()), (3,), t.float32),
    (drawn(nn.ConvTranspose2d(3, 8, 3), nn.ReLU()), (2, 4, 9, 9), t.float32),
    (drawn(nn.Linear(64, 8), nn.ReLU()), (600, 65), t.float32),
    (drawn(nn.Linear(64, 8), nn.ReLU()), (600, 64), t.float64),
])
def test_errors(model, shape, dtype, monkeypatch):
    said = []
    for unwatched in (_fusion.is_unwatched, lambda input: False):
        monkeypatch.setattr(_fusion, "is_unwatched", unwatched)
        with pytest.raises(Exception) as error, t.no_grad():
            model(t.randn(shape, dtype=dtype))
        said.append((error.type, str(error.value), getattr(error.value, "__notes__", None)))
    assert said[0] == said[1]
