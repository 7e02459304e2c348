"""check_module: every layer passes it, and each check finds the faults that it is meant for."""

import itertools
import os
import random
import warnings

import pytest

import flambeau
from _layers import LAYERS
from flambeau import nn
from flambeau.testing import ModuleCheckError, check_module
from flambeau.testing._module import CHECKS

FLAT = flambeau.linspace(-1, 1, 6).reshape(2, 3)
X = FLAT.clone().requires_grad_()


# ---- our own layers

EXCEPTIONS = {  # a part of the code of layers -> what they are excused from, and why
    "max_norm": ({"gradients"}, "a call writes to the weight, which the gradient does not see"),
    "CTCLoss": ({"gradients"}, "its gradient, as PyTorch's, is right for log-probabilities that sum up to one"),
    "GaussianNLLLoss(eps": ({"gradients"}, "its gradient, as PyTorch's, does not see that variances are clamped"),
    "CrossMapLRN2d": ({"gradients"}, "its gradient is PyTorch's, which is not that of its output"),
}


def excused(code):
    return set().union(*[checks for part, (checks, _) in EXCEPTIONS.items() if part in code])


def check_row(layer, skip):
    def make():
        return eval(layer.code if "nn." in layer.code else f"nn.{layer.code}", {"t": flambeau, "nn": nn})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a deprecated layer says at each of its many calls
        check_module(make, (), tuple(layer.arguments(flambeau)), skip=skip)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_our_layers(layer):
    check_row(layer, excused(str(layer)) | {"engines"})


def rows_for_xla():
    """One of each class, for jax takes its time for each shape. (All of them, compiled, are in tests/compiler.)"""
    if os.environ.get("FLAMBEAU_ALL_ROWS"):
        return LAYERS
    return list({str(layer).partition("(")[0]: layer for layer in reversed(LAYERS)}.values())


@pytest.fixture(scope="module")
def quick_jax():
    """jax, compiling as fast as it can."""
    jax = pytest.importorskip("jax")
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.mark.jax
@pytest.mark.parametrize("layer", rows_for_xla(), ids=str)
def test_our_layers_on_xla(layer, quick_jax):
    check_row(layer, CHECKS.keys() - {"engines"})


CONTAINERS = {
    "Sequential": (lambda: nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout(0.3)), X), "ModuleList": (lambda: nn.ModuleList([nn.Linear(3, 2)]), None),
    "ModuleDict": (lambda: nn.ModuleDict({"a": nn.Linear(3, 2)}), None), "ParameterList": (lambda: nn.ParameterList([flambeau.randn(2)]), None),
    "ParameterDict": (lambda: nn.ParameterDict({"a": flambeau.randn(2)}), None), "Module": (nn.Module, None),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name):
    make, inputs = CONTAINERS[name]
    check_module(make, (), inputs, skip=["engines"])


# ---- planted faults: what is wrong, and the checks that must say so


class Unregistered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3)]

    def forward(self, x):
        return self.layers[0](x)


class HiddenParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = {"weight": nn.Parameter(flambeau.ones(3))}

    def forward(self, x):
        return x * self.table["weight"]


class PlainTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = flambeau.full((3,), 2.0)

    def forward(self, x):
        return x * self.scale


class Unseeded(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flambeau.tensor([random.random() for _ in range(3)]))

    def forward(self, x):
        return x * self.weight


class UnseededForward(nn.Module):
    def forward(self, x):
        return x * random.random()


class WritesToInput(nn.Module):
    def forward(self, x):
        with flambeau.no_grad():
            x.add_(1)
        return x * 2


class SavesLess(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flambeau.rand(3))

    def state_dict(self, *args, **kwargs):
        state = super().state_dict(*args, **kwargs)
        state.pop("weight", None)
        return state

    def forward(self, x):
        return x * self.weight


class StateOutside(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = float(flambeau.rand(1))

    def forward(self, x):
        return x * self.factor


class HoldsAFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.function = lambda x: x * 2

    def forward(self, x):
        return self.function(x)


class CopiesShare(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flambeau.rand(3))

    def __deepcopy__(self, memo):
        twin = CopiesShare()
        twin.weight = self.weight
        return twin

    def forward(self, x):
        return x * self.weight


class LosesState(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 3.0

    def __getstate__(self):
        return {**self.__dict__, "factor": 1.0}

    def forward(self, x):
        return x * self.factor


class Float32Inside(nn.Module):
    def forward(self, x):
        return (x + flambeau.ones(3)).float()


class StaysInFloat32(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flambeau.rand(3))

    def _apply(self, function, recurse=True):
        return self

    def forward(self, x):
        return (x * self.weight).to(x.dtype)


class TrainReturnsNothing(nn.Module):
    def train(self, mode=True):
        super().train(mode)

    def forward(self, x):
        return x


class DropsAlways(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = itertools.count()

    def forward(self, x):
        return x + next(self.calls)


class CountsInEvaluation(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", flambeau.zeros(1))

    def forward(self, x):
        self.count += 1
        return x * 1


class OwnCall(nn.Module):
    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return x * 2


class WrongGradient(nn.Module):
    class Double(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    def forward(self, x):
        return self.Double.apply(x)


class LeavesTheGraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).detach().tanh()


class AddressInRepr(nn.Module):
    def extra_repr(self):
        return f"{id(self):#x}"

    def forward(self, x):
        return x


class BrokenRepr(nn.Module):
    def __repr__(self):
        raise KeyError("size")

    def forward(self, x):
        return x


class NoInit(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(3, 3)


FAULTS = {
    Unregistered: {"registration": "nn.ModuleList"}, HiddenParameter: {"registration": "nn.ParameterList"}, PlainTensor: {"registration": "register_buffer"},
    Unseeded: {"construct": "one seed differ", "forward": "one seed"}, UnseededForward: {"forward": "draw from the library's generators"},
    WritesToInput: {"forward": "changes its inputs"}, SavesLess: {"state_dict": "does not take what state_dict returns"},
    StateOutside: {"state_dict": "state outside of parameters and buffers"}, HoldsAFunction: {"pickle": "pickle fails with"}, CopiesShare: {"deepcopy": "shares the memory of 'weight'"},
    LosesState: {"pickle": "gives other outputs"}, Float32Inside: {"dtype": "an output of torch.float32"}, StaysInFloat32: {"dtype": "'weight' is torch.float32 after double()"},
    TrainReturnsNothing: {"modes": "does not return the module"}, DropsAlways: {"modes": "two calls with the same input differ"}, CountsInEvaluation: {"modes": "changes buffers"},
    OwnCall: {"hooks": "do not override __call__"}, WrongGradient: {"gradients": "differ from finite differences"}, LeavesTheGraph: {"gradients": "no output does"}, AddressInRepr: {"repr": "different reprs"},
    BrokenRepr: {"repr": "KeyError: 'size'"}, NoInit: {"construct": "super().__init__()"},
}


@pytest.mark.parametrize("cls", FAULTS, ids=lambda cls: cls.__name__)
def test_planted_faults_are_found(cls):
    with pytest.raises(ModuleCheckError) as caught:
        check_module(cls, (), X, skip=["engines"])
    failures = caught.value.failures
    for check, phrase in FAULTS[cls].items():
        assert phrase in failures[check], failures
        assert f"\n- {check}: " in str(caught.value)
    assert str(caught.value).startswith(f"check_module({cls.__name__}) found {len(failures)} failure(s):")


@pytest.mark.parametrize("check", [name for name in CHECKS if name != "engines"])
def test_each_check_finds_a_fault(check):
    assert any(check in phrases for phrases in FAULTS.values())


def test_a_good_module_passes():
    check_module(nn.Linear, (3, 2), X, kwargs={"bias": False}, skip=["engines"])


def test_a_fault_that_breaks_one_thing_fails_one_check():
    with pytest.raises(ModuleCheckError) as caught:
        check_module(WrongGradient, (), X, skip=["engines"])
    assert list(caught.value.failures) == ["gradients"]


class OnTheHost(nn.Module):
    def forward(self, x):
        return flambeau.tensor(x.tolist()) * 2


@pytest.mark.jax
def test_a_result_on_another_device_is_found():
    with pytest.raises(ModuleCheckError, match="inputs on xla give an output on cpu"):
        check_module(OnTheHost, (), FLAT, skip=CHECKS.keys() - {"engines"})


def test_names_of_checks():
    with pytest.raises(ValueError, match="no checks are called"):
        check_module(nn.Linear, (3, 2), X, skip=["speed"])
