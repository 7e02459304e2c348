"""The first non-finite value is reported, and the guard leaves nothing behind."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau._modes import modes
from flambeau.debug import NonFiniteError, nan_guard

INF, NAN = float("inf"), float("nan")


class Function(nn.Module):
    """Calls a function between two layers."""

    def __init__(self, function):
        super().__init__()
        self.first, self.last, self.function = nn.Linear(4, 4), nn.Linear(4, 4), function
        nn.init.eye_(self.first.weight)
        nn.init.zeros_(self.first.bias)

    def forward(self, x):
        return self.last(self.function(self.first(x)))


def guarded(model, x, backward=False):
    with pytest.raises(NonFiniteError) as raised, nan_guard(model):
        out = model(x)
        if backward:
            out.sum().backward()
    return raised.value


FORWARD = [  # what runs, the input, the op
    (lambda x: torch.log(x), -torch.ones(2, 4), "log"),
    (lambda x: x / (x - x), torch.ones(2, 4), "div"),
    (lambda x: torch.exp(x * 1000), torch.ones(2, 4), "exp"),
    (lambda x: x.masked_fill(x > 0, -INF).softmax(-1), torch.ones(2, 4), "masked_fill"),
]


@pytest.mark.parametrize("function, x, op", FORWARD, ids=[op for *_, op in FORWARD])
def test_forward(function, x, op):
    error = guarded(Function(function), x)
    assert (error.module, error.op) == ("", op)
    assert error.line.filename == __file__ and error.line.lineno == function.__code__.co_firstlineno
    assert f"op: {op}" in str(error) and "float32[2, 4]: min" in str(error)


BACKWARD = [  # what runs, the input, the node
    (lambda x: torch.sqrt(x), torch.zeros(2, 4), "SqrtBackward0"),
    (lambda x: x.norm(), torch.zeros(2, 4), None),  # its gradient at 0 is 0
    (lambda x: torch.where(x > 0, x, torch.zeros_like(x)).pow(0.5), torch.zeros(2, 4), "PowBackward0"),
]


@pytest.mark.parametrize("function, x, node", BACKWARD, ids=[str(node) for *_, node in BACKWARD])
def test_backward(function, x, node):
    model = Function(lambda x: function(x).expand(2, 4))
    if node is None:
        with nan_guard(model):
            model(x).sum().backward()
        return
    error = guarded(model, x, backward=True)
    assert (error.module, error.op) == ("", node)
    assert error.line.lineno == function.__code__.co_firstlineno


def test_module_inside_and_parameter():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 3)))
    with torch.no_grad():
        model[1][1].weight[0, 0] = NAN
    error = guarded(model, torch.ones(1, 2))
    assert (error.module, error.parameter) == ("1.1", "1.1.weight")
    assert "1.1 = Linear(in_features=2, out_features=3, bias=True)" in str(error)


def test_gradient_of_a_parameter():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = nn.Parameter(torch.zeros(2))

        def forward(self, x):
            return x * self.s.sqrt()

    error = guarded(nn.Sequential(Scale()), torch.ones(1, 2), backward=True)
    assert (error.module, error.parameter, error.op) == ("0", "0.s", "SqrtBackward0")


def test_second_of_two_forwards():
    model = nn.Sequential(nn.Linear(2, 2))
    with nan_guard(model) as guard:
        good, bad = model(torch.ones(1, 2)), model(torch.ones(1, 2))
        good.sum().backward()
        with pytest.raises(NonFiniteError) as raised:
            (bad * torch.tensor(INF)).sum().backward()
    assert raised.value.module is None and "outside of the model" in str(raised.value)
    assert not guard._handles


def test_input_of_the_model():
    error = guarded(nn.Linear(2, 2), torch.tensor([[1.0, NAN]]))
    assert "called with a non-finite input" in str(error) and "1 nan of 2" in str(error)


def test_dropout_is_repeated():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Dropout(0.5), Function(lambda x: 1 / x.clamp(min=0)))
    error = guarded(model, torch.ones(3, 4))
    assert error.module == "1" and error.op in ("div", "reciprocal", "rdiv")


def test_large_but_finite():
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model.weight.fill_(1e38)
        model.bias.zero_()
    with nan_guard(model, backward=False):
        assert model(torch.full((100, 2), 1.0)).isfinite().all()  # its sum is not


def test_nothing_stays():
    torch.manual_seed(1)
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5), Function(torch.log))
    reference = torch.get_rng_state()
    with pytest.raises(NonFiniteError), nan_guard(model):
        model(torch.randn(8, 4))
    after = torch.get_rng_state()
    assert model[0].num_batches_tracked == 1
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert not torch.is_anomaly_enabled() and model[2].last.weight.grad is None
    torch.set_rng_state(reference)
    plain = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5))
    plain(torch.randn(8, 4))
    assert torch.equal(torch.get_rng_state(), after)


def test_an_error_of_the_model_passes_through():
    model = Function(lambda x: x.reshape(3))
    with nan_guard(model) as guard, pytest.raises(RuntimeError, match="invalid for input of size"):
        model(torch.ones(2, 4))
    assert not guard._calls.open and not any(m._forward_hooks for m in model.modules())


def test_anomaly_mode_comes_back():
    with torch.autograd.detect_anomaly():
        nan_guard(nn.Linear(1, 1)).remove()
        assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()


def test_gradient_of_a_loss_outside():
    model = nn.Linear(4, 4)
    with pytest.raises(NonFiniteError, match="outside of the model") as raised, nan_guard(model):
        (model(torch.ones(2, 4)).sum() * 0).sqrt().backward()
    assert raised.value.op == "SqrtBackward0" and raised.value.module is None


def test_guards_are_removed_in_any_order():
    guards = [nan_guard(nn.Linear(1, 1)) for _ in range(3)]
    for place in (1, 0, 2):
        assert torch.is_anomaly_enabled()
        guards[place].remove()
    assert not torch.is_anomaly_enabled() and modes.gradient_check is None
