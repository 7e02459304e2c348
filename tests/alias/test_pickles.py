"""Plain pickles are exchanged between Flambeau under the alias and PyTorch: tensors, and objects that contain them."""

import subprocess
import sys

import pytest

ALIAS = "from flambeau import alias; alias.install()\n"
# Expressions that make what is pickled; `describe` below says what must come out.
THINGS = [
    "torch.arange(6.).view(2, 3)",
    "torch.arange(6.).view(2, 3).t()[1:]",
    "torch.tensor(3, dtype=torch.int16)",
    "torch.tensor([True, False])",
    "torch.tensor([1 + 2j], dtype=torch.complex128)",
    "torch.tensor([1.5, 2], dtype=torch.bfloat16)",
    "torch.tensor([1.5, 2]).view(torch.int32)",
    "torch.ones(0, 3)",
    "torch.ones(2, requires_grad=True)",
    "torch.ones(2, 3, device='meta')",
    "torch.eye(3).to_sparse()",
    "with_attribute(torch.ones(2))",
    "torch.ones(2).as_subclass(Marked)",
    "nn.Parameter(torch.ones(2), requires_grad=False)",
    "with_attribute(nn.Parameter(torch.ones(2)))",
    "nn.Buffer(torch.ones(2))",
    "nn.UninitializedParameter()",
    "torch.Size([2, 3])",
    "[torch.float32, torch.bool, torch.int64, torch.complex64, torch.uint16]",
    "[torch.device('cpu'), torch.device('cuda', 1)]",
    "torch.strided",
    "drawn(torch.Generator().manual_seed(3))",
    "torch.ones(2).untyped_storage()[:3].tolist()",
    "torch.FloatStorage([1.5, 2])",
    "nn.Linear(2, 3)",
    "hooked(nn.Linear(2, 3))",
    "nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Dropout(0.1))",
    "nn.LSTM(2, 3, num_layers=2, bidirectional=True)",
    "nn.GRUCell(2, 3)",
    "nn.MultiheadAttention(4, 2)",
    "nn.TransformerEncoderLayer(4, 2, 8, activation='gelu')",
    "nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2)",
    "nn.ModuleDict({'a': nn.ParameterList([torch.ones(2)]), 'b': nn.ModuleList([nn.Embedding(3, 2, padding_idx=0)])})",
    "nn.ParameterDict({'a': torch.ones(2)})",
    "nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)).weight",
    "[nn.TripletMarginLoss(), nn.CrossEntropyLoss(torch.ones(2)), nn.InstanceNorm1d(2), nn.Upsample(scale_factor=2)]",
    "stepped(torch.optim.SGD, lr=0.1, momentum=0.9)",
    "stepped(torch.optim.AdamW, lr=0.1)",
    "stepped(torch.optim.RMSprop, lr=0.1)",
    "torch.optim.lr_scheduler.StepLR(stepped(torch.optim.Adam, lr=0.1), 3).state_dict()",
    "nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])",
    "torch.utils.data.TensorDataset(torch.ones(2, 3))",
    "torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.ones(2, 3)), [0])",
    "torch.distributions.Normal(torch.zeros(2), torch.ones(2))",
    "torch.nn.functional.relu",
    "[torch.nn.functional.gelu, torch.relu, torch.nn.functional.softplus]",
]
# PyTorch cannot read these when it has written them itself.
ONE_WAY = [
    "torch.ones(2).untyped_storage()",
    "torch.tensor([1, 2], dtype=torch.uint16)",
    "torch.ones(2, dtype=torch.float8_e5m2)",
    "torch.channels_last",
]
PROGRAM = '''
import pickle, sys, warnings
warnings.simplefilter("ignore")
import torch
from torch import nn

class Marked(torch.Tensor):
    pass

def with_attribute(t):
    t.mark = {"a": 1}
    return t

def seen(*args):
    pass

def hooked(module):
    module.register_forward_hook(seen, with_kwargs=True, always_call=True)
    module.register_forward_hook(seen)
    module.register_forward_pre_hook(seen, with_kwargs=True)
    module.register_full_backward_hook(seen)
    module.register_state_dict_pre_hook(seen)
    return module

def drawn(generator):
    torch.randn(3, generator=generator)
    return generator

def stepped(cls, **settings):
    p = nn.Parameter(torch.ones(3))
    optimizer = cls([p], **settings)
    (p * p).sum().backward()
    optimizer.step()
    return optimizer

def describe(x):
    """A text that says all that matters of a value, the same in both libraries."""
    kind = f"{type(x).__module__}.{type(x).__qualname__}"
    if isinstance(x, nn.parameter.UninitializedTensorMixin):
        return f"{kind} {x.requires_grad} {x.dtype}"
    if isinstance(x, torch.Tensor):
        marks = sorted((name, str(value)) for name, value in vars(x).items() if name not in ("_grad",))
        elements = "" if x.device.type == "meta" else x.detach().to_dense().tolist()
        strides = x.stride() if x.layout is torch.strided else ""
        return f"{kind} {x.dtype} {tuple(x.shape)} {strides} {x.requires_grad} {x.layout} {elements} {marks}"
    if isinstance(x, torch.Generator):
        return f"{kind} {x.initial_seed()} {torch.randn(3, generator=x).tolist()}"
    if isinstance(x, nn.Module):
        tables = [(name, sorted(value)) for name, value in vars(x).items() if "_hooks" in name and value]
        parts = [(name, describe(value)) for name, value in x.state_dict().items()]
        return f"{kind} {x} {x.training} {tables} {parts}"
    if isinstance(x, torch.optim.Optimizer):
        return f"{kind} {describe(x.state_dict())} {describe(x.param_groups[0]['params'])}"
    if isinstance(x, torch.storage.TypedStorage | torch.UntypedStorage):
        return f"{kind} {x.tolist()}"
    if isinstance(x, dict):
        return {key: describe(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return kind, [describe(each) for each in x]
    if kind.startswith("torch.utils.data") or kind.startswith("torch.distributions"):
        return f"{kind} {describe(vars(x))}"
    return f"function {x.__name__}" if callable(x) else f"{kind} {x}"

def write(expressions, path, protocol=4):
    written = []
    for expression in expressions:
        torch.manual_seed(0)
        x = eval(expression)
        written.append(pickle.dumps(x, protocol))
        assert b"flambeau" not in written[-1], expression
        print(expression, describe(x))
    with open(path, "wb") as file:
        pickle.dump(list(zip(expressions, written)), file)

def read(path):
    with open(path, "rb") as file:
        for expression, each in pickle.load(file):
            print(expression, describe(pickle.loads(each)))
'''


def run(prelude, call):
    done = subprocess.run([sys.executable, "-c", prelude + PROGRAM + call], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("protocol", (2, 5))
def test_there_and_back(protocol, tmp_path):
    path = str(tmp_path / "p")
    written = run(ALIAS, f"write({THINGS + ONE_WAY!r}, {path!r}, {protocol})")
    assert run(ALIAS, f"read({path!r})") == written


@pytest.mark.oracle
def test_pytorch_reads_ours(tmp_path):
    path = str(tmp_path / "p")
    written = run(ALIAS, f"write({THINGS + ONE_WAY!r}, {path!r})")
    assert run("", f"read({path!r})") == written


@pytest.mark.oracle
def test_pytorchs_are_read(tmp_path):
    path = str(tmp_path / "p")
    written = run("", f"write({THINGS!r}, {path!r})")
    assert run(ALIAS, f"read({path!r})") == written


PLACES = [
    "torch", "torch.nn", "torch.nn.utils.rnn", "torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.optim",
    "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.distributions", "torch.distributions.constraints",
    "torch.distributions.transforms", "torch.utils.data", "torch.utils.hooks", "torch.storage", "torch.amp",
    "torch.autograd", "torch.autograd.function", "torch.nn.modules.module", "torch.nn.parallel", "torch.return_types",
]
CLASSES = f"places = {PLACES}" + '''
import importlib, warnings
warnings.simplefilter("ignore")
for place in places:
    module = importlib.import_module(place)
    for name in dir(module):
        value = getattr(module, name)
        if isinstance(value, type) and not name.startswith("_") and value.__module__.startswith(("torch", "flambeau")):
            is_there = getattr(importlib.import_module(value.__module__), value.__qualname__, None) is value
            print(f"{place}.{name}: {value.__module__} {value.__qualname__} {is_there}")
'''
# Ours are one class where PyTorch has several, or live where PyTorch's are names of its extension.
ELSEWHERE_IN_PYTORCH = {
    "torch.Event", "torch.PyTorchFileReader", "torch.ScriptModule", "torch.Stream",
    "torch.utils.data.functional_datapipe",
}


def places(prelude):
    return dict(line.split(": ") for line in run(prelude, CLASSES))


def test_classes_are_found_under_their_names():
    assert {name: found for name, found in places(ALIAS).items() if not found.endswith("True")} == {}


@pytest.mark.oracle
def test_classes_have_pytorchs_names():
    ours, theirs = places(ALIAS), places("")
    both = ours.keys() & theirs.keys() - ELSEWHERE_IN_PYTORCH
    assert {name: ours[name] for name in both} == {name: theirs[name] for name in both}
