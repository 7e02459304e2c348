"""In-place activations: the kernel writes to the memory itself if it can."""

import pytest

import flambeau as t
from flambeau.nn import functional as F

CASES = [
    (F.relu, ()), (F.relu6, ()), (F.hardtanh, (-0.5, 0.25)), (F.hardtanh, (-1, 2)), (F.leaky_relu, (0.3,)), (F.elu, (1.5,)),
    (F.silu, ()), (F.mish, ()), (F.hardswish, ()), (F.hardsigmoid, ()),
]
MEMORY = {
    "contiguous": lambda x: x,
    "large": lambda x: x.repeat(40, 50),
    "strided": lambda x: x.repeat(2, 2)[::2, ::2],
    "transposed": lambda x: x.t(),
    "a row of others": lambda x: x.clone()[3],
    "empty": lambda x: x[:0],
    "a number": lambda x: x[0, 0].clone(),
    "double": lambda x: x.double(),
    "half": lambda x: x.half(),
}


@pytest.mark.parametrize("memory", MEMORY.values(), ids=MEMORY)
@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_results(function, arguments, memory):
    x = memory(t.linspace(-5, 8, 30 * 41).reshape(30, 41).clone())
    right, array, version = function(x, *arguments), x.data_ptr(), x._version
    strides = x.stride()
    assert function(x, *arguments, inplace=True) is x
    assert t.allclose(x, right, rtol=1e-6, atol=1e-6)
    assert (x.data_ptr(), x.stride(), x._version) == (array, strides, version + 1)


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_recorded(function, arguments):
    leaf = t.linspace(-5, 8, 50).requires_grad_()
    (right,) = t.autograd.grad(function(leaf * 1, *arguments).sum(), leaf)
    (ours,) = t.autograd.grad(function(leaf * 1, *arguments, inplace=True).sum(), leaf)
    assert t.allclose(ours, right, rtol=1e-6, atol=1e-6)  # those taken of the result are rounded once more


def in_place_calls():
    """name -> call(library, x), which overwrites x or what a layer makes of it."""
    names = {"relu": "ReLU", "relu6": "ReLU6", "elu": "ELU", "celu": "CELU", "selu": "SELU", "leaky_relu": "LeakyReLU",
             "rrelu": "RReLU", "hardtanh": "Hardtanh", "hardswish": "Hardswish", "hardsigmoid": "Hardsigmoid",
             "silu": "SiLU", "mish": "Mish", "threshold": "Threshold", "dropout": "Dropout", "dropout1d": "Dropout1d",
             "alpha_dropout": "AlphaDropout", "feature_alpha_dropout": "FeatureAlphaDropout"}
    calls = {}
    for name, cls in names.items():
        arguments = (0.1, 20.0) if name == "threshold" else ()
        calls[name] = lambda t, x, name=name, own=arguments: getattr(t.nn.functional, name)(x, *own, inplace=True)
        for mode in (True, False):
            calls[f"{cls}, train={mode}"] = lambda t, x, cls=cls, own=arguments, mode=mode: getattr(t.nn, cls)(
                *own, inplace=True).train(mode)(x)
        for before in () if cls == "Dropout1d" else ("Linear", "BatchNorm1d", "LayerNorm", "Conv2d", "Conv2d, BatchNorm2d"):
            for in_place in (True, False):
                calls[f"{before}, {cls}, in_place={in_place}"] = lambda t, x, own=(
                    before, cls, arguments, in_place): after_layers(t, x, *own)
    for name in ("relu_", "elu_", "celu_", "selu_", "leaky_relu_", "rrelu_", "hardtanh_"):
        calls[name] = lambda t, x, name=name: getattr(t.nn.functional, name)(x)
    calls["threshold_"] = lambda t, x: t.nn.functional.threshold_(x, 0.1, 20.0)
    return calls


def after_layers(library, x, before, cls, arguments, in_place):
    nn = library.nn
    layers = {"Linear": lambda: nn.Linear(4, 4), "BatchNorm1d": lambda: nn.BatchNorm1d(4), "LayerNorm": lambda: nn.LayerNorm(4),
              "Conv2d": lambda: nn.Conv2d(1, 2, 3, padding=1), "BatchNorm2d": lambda: nn.BatchNorm2d(2)}
    act = getattr(nn, cls)(*arguments, inplace=in_place)
    model = nn.Sequential(*[layers[name]() for name in before.split(", ")], act)
    with library.no_grad():
        for p in model.parameters():
            p.copy_(library.linspace(-0.7, 1.3, p.numel()).reshape(p.shape))
    return model(x.reshape(1, 1, 2, 4) if "Conv2d" in before else x)


def outcome(library, call, grad, written):
    """Versions of the input and the result, and the gradient, or the error, where one of both was `written` to."""
    library.manual_seed(0)
    leaf = library.tensor([[-1.5, -0.5, 0.5, 2.0], [1.0, -2.0, 3.0, -4.0]], requires_grad=grad)
    x = leaf * 1
    y = call(library, x)
    found = [x._version, y._version, y is x, y.tolist(), y.grad_fn and y.grad_fn.name()]
    if not grad:
        return found
    with library.no_grad():
        for target in {"input": [x], "result": [y]}.get(written, []):
            target.mul_(2)
    try:
        y.sum().backward()
    except RuntimeError as error:
        return [*found, str(error).split(":")[0]]
    return [*found, leaf.grad.tolist()]


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


@pytest.mark.oracle
@pytest.mark.parametrize("name", in_place_calls())
def test_writes_are_counted_and_noticed_as_by_the_oracle(name):
    torch = pytest.importorskip("torch")
    call = in_place_calls()[name]
    for grad, written in ((False, None), (True, None), (True, "input"), (True, "result")):
        ours, theirs = (flat(outcome(library, call, grad, written)) for library in (t, torch))
        assert ours == pytest.approx(theirs, abs=1e-4), (grad, written)


@pytest.mark.parametrize("call", [
    lambda t, x: t.nn.functional.leaky_relu_(x, -0.5), lambda t, x: t.nn.functional.elu_(x, -0.5), lambda t, x: t.celu_(x, -0.5),
    lambda t, x: t.rrelu_(x, -0.5, -0.2),
])
@pytest.mark.oracle
def test_negative_slopes_in_place_are_refused_in_backward(call):
    torch = pytest.importorskip("torch")
    for library in (t, torch):
        x = library.tensor([-1.0, 2.0], requires_grad=True)
        with pytest.raises(RuntimeError, match=r"In-place .* backward calculation is triggered with a negative slope"):
            call(library, x * 1).sum().backward()


@pytest.mark.parametrize("call", [F.elu_, F.selu_, lambda x: F.celu_(x, 1.5), F.leaky_relu_])
def test_gradients_of_gradients(call):
    x = t.linspace(-2.03, 3.01, 7, dtype=t.float64).requires_grad_()
    assert t.autograd.gradgradcheck(lambda x: call(x * 1), x)
    with t.no_grad():
        assert t.equal(t.func.vmap(lambda x: call(x * 1))(x), call(x * 1))


def test_a_saved_tensor_that_is_overwritten_is_noticed():
    x = t.ones(3, requires_grad=True)
    y = x.exp()
    F.relu(y.detach(), inplace=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(("call", "error"), [
    (lambda x: F.hardtanh(x, 2.0, 1.0, inplace=True), ValueError),
    (lambda x: F.leaky_relu(x, "0.1", inplace=True), TypeError),
    (lambda x: F.leaky_relu(x, 1e300, inplace=True), RuntimeError),
    (lambda x: F.relu_(x.expand(2, 3)), RuntimeError),
    (lambda x: F.relu_(x, 1), TypeError),
    (lambda x: F.relu_([1.0]), TypeError),
    (lambda x: F.relu_(t.ones(3, requires_grad=True)), RuntimeError),
])
def test_what_is_wrong_is_refused(call, error):
    x = t.full((1, 3), -1.0)
    with pytest.raises(error):
        call(x)
    assert (x == -1).all()
