"""What a page shows of a model, and that the model is left unchanged."""

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import flambeau as torch
from flambeau import inspection, nn

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import inspect_models  # noqa: E402


def small():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))


# Parameters, and operations of one forward at two a multiplication and addition.
KNOWN = {
    "mlp": (101_770, 16 * 2 * (784 * 128 + 128 * 10)),
    "resnet50": (25_557_032, 8_178_000_000),
    "gpt2": (124_439_808, 64 * 2 * (12 * 12 * 768**2 + 768 * 50257) + 12 * 4 * 64 * 64 * 768),
    "lstm": (288_864, 160 * 2 * (2 * 2 * 4 * 128 * 128 + 128 * 96)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_models(name):
    make, batch = inspect_models.MODELS[name]
    parameters, flops = KNOWN[name]
    summary = torch.inspect(make(), batch()).data["summary"]
    assert summary["parameters"] == parameters and summary["flops"] == pytest.approx(flops, rel=0.01)
    assert summary["forward"] > 0 and summary["backward"] > 0 and summary["saved"] > 0


def test_records_of_modules():
    page = torch.inspect(small(), torch.randn(2, 3, 8, 8))
    conv, norm, relu = (page.modules[path] for path in "012")
    assert conv["class"] == "Conv2d" and conv["settings"].startswith("3, 4, kernel_size=(3, 3)")
    assert conv["inputs"] == [[2, 3, 8, 8]] and conv["outputs"] == [[2, 4, 6, 6]] and conv["calls"] == 1
    assert conv["count"] == 112 and conv["flops"] == 2 * 2 * 4 * 36 * 27
    assert [p["name"] for p in norm["parameters"]] == ["weight", "bias"]
    assert sum(relu["activation"]["histogram"]["counts"]) == 2 * 4 * 36 and relu["activation"]["zeros"] > 0
    assert conv["pictures"][0]["count"] == 4 and {"feature maps", "filters"} == {
        word for p in conv["pictures"] for word in ("feature maps", "filters") if p["title"].startswith(word)
    }
    weight = conv["parameters"][0]
    assert weight["gradient"]["norm"] / weight["values"]["norm"] == pytest.approx(weight["ratio"], rel=1e-3)
    assert page.modules[""]["saved"] >= conv["saved"] + relu["saved"]


def test_updates_beside_weights():
    model, x = small(), torch.randn(2, 3, 8, 8)
    optimizer = torch.optim.SGD(model[:2].parameters(), lr=0.5, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)  # wraps the step of the optimizer
    before = {name: value.clone() for name, value in model.state_dict().items()}
    page = torch.inspect(model, x, loss=lambda y: y.square().mean(), optimizer=optimizer)
    weight, bias = page.modules["0"]["parameters"]
    assert weight["update"] == pytest.approx(0.5 * weight["ratio"], rel=1e-3) and weight["update"] > 0
    assert page.modules["0"]["update"] == max(weight["update"], bias["update"])
    assert "update" not in page.modules["4"]  # not in the optimizer
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not optimizer.state and scheduler.last_epoch == 0 and model[0].weight.grad is None


def test_inputs_stay_as_they_are():
    x = torch.ones(2, 2)
    page = torch.inspect(nn.Sequential(nn.ReLU(inplace=True), nn.Hardtanh(0.0, 0.5, inplace=True)), x)
    assert torch.equal(x, torch.ones(2, 2)) and page.modules["0"]["activation"]["mean"] == 1

    class Same(nn.Module):
        def forward(self, a, b):
            assert a is b
            return a + b

    torch.inspect(Same(), x, x)


def test_updates_of_an_optimizer_that_needs_a_closure():
    model = small()
    with pytest.raises(TypeError, match="closure"):
        torch.inspect(model, torch.randn(2, 3, 8, 8), optimizer=torch.optim.LBFGS(model.parameters()))
    assert model[0].weight.grad is None


def test_data_flow_shows_the_shortcut():
    page = torch.inspect(inspect_models.Bottleneck(16, 4), torch.randn(1, 16, 8, 8))
    ops = page.data["ops"]
    assert ops[0]["op"] == "input"
    add = next(op for op in ops if op["op"] == "add")
    assert 0 in add["from"] and len(add["from"]) == 2
    assert [op["again"]["relu"] for op in ops if "again" in op] == [2, 3]
    assert all(source < place for place, op in enumerate(ops) for source in op["from"])


def test_equal_siblings_are_a_run():
    model = nn.Sequential(nn.Linear(4, 4), *[nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(5)])
    page = torch.inspect(model)
    assert "run" not in page.modules["0"]
    assert {page.modules[str(i)]["run"]["first"] for i in range(1, 6)} == {"1"}
    assert page.modules["3"]["run"]["length"] == 5


def test_shared_and_frozen():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    model[0].bias.requires_grad_(False)
    model.append(model[0])
    page = torch.inspect(model, torch.ones(1, 2))
    assert page.modules["1"]["parameters"][0]["shared_with"] == "0.weight"
    assert page.modules["2"]["same_as"] == "0" and page.modules["0"]["calls"] == 2
    assert page.data["summary"]["parameters"] == 8 and page.data["summary"]["trainable"] == 6


def test_faults_show():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    with torch.no_grad():
        model[0].bias.fill_(-100)
        model[2].bias.fill_(50)
        model[4].weight[0, 0] = float("nan")
    page = torch.inspect(model, torch.ones(4, 2))
    assert page.modules["1"]["dead"] == 1.0 and page.modules["3"]["saturated"] == 1.0
    assert page.modules["4"]["activation"]["nonfinite"] == 4
    assert page.modules["4"]["parameters"][0]["values"]["nonfinite"] == 1
    json.loads(json.dumps(page.data, allow_nan=False))


def test_attention_is_pictured():
    page = torch.inspect(nn.TransformerEncoderLayer(8, 2, 16), torch.randn(5, 1, 8))
    titles = [p["title"] for p in page.modules["self_attn"]["pictures"]]
    assert titles == ["attention of the first sample, by head"]


def test_graph_with_saved_values():
    model = nn.Linear(2, 1, bias=False)
    page = torch.inspect(model, torch.tensor([[3.0, 4.0]]))
    names = [node["name"] for node in page.data["graph"]]
    assert names[0] == "SumBackward0" and "weight" in names
    assert any("3, 4" in text for node in page.data["graph"] for text in node["saved"])
    assert torch.inspect(nn.Sequential(*[nn.ReLU() for _ in range(300)]),
                         torch.ones(2, requires_grad=True)).data["graph"] is None


def test_the_model_stays_as_it_was():
    model = small().train()
    model[0].weight.grad = torch.ones_like(model[0].weight)
    before = {name: t.clone() for name, t in model.state_dict().items()}
    state = torch.get_rng_state()
    torch.inspect(nn.Sequential(model, nn.Dropout()), torch.randn(2, 3, 8, 8) * 0 + 1)
    torch.set_rng_state(state)
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    assert torch.equal(model[0].weight.grad, torch.ones_like(model[0].weight)) and model[4].weight.grad is None
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    with pytest.raises(RuntimeError):
        torch.inspect(model, torch.randn(2, 5, 8, 8))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert sys.getprofile() is None


def test_the_inputs_stay_as_they_were():
    leaf = torch.ones(1, 2, requires_grad=True)
    output = leaf.exp()
    torch.inspect(nn.Linear(2, 1), output)
    assert leaf.grad is None
    output.sum().backward()


def test_models_of_other_kinds():
    assert torch.inspect(nn.ReLU(), torch.ones(2)).data["graph"] is None  # nothing requires a gradient
    assert torch.inspect(nn.Embedding(4, 2), torch.tensor([1, 2])).modules[""]["outputs"] == [[2, 2]]
    assert torch.inspect(nn.LSTM(2, 3), torch.randn(4, 1, 2)).modules[""]["outputs"] == [[4, 1, 3], [1, 1, 3], [1, 1, 3]]
    page = torch.inspect(nn.Linear(2, 2).eval())
    assert page.data["ops"] == [] and page.data["summary"]["flops"] is None and not page.data["summary"]["training"]


def test_times_are_those_of_the_second_run():
    class SlowAtFirst(nn.Module):
        calls = 0

        def forward(self, x):
            self.calls += 1
            time.sleep(0.2 if self.calls == 1 else 0)
            return x * 2

    assert torch.inspect(SlowAtFirst(), torch.ones(2)).modules[""]["forward"] < 0.2


def test_lazy_modules():
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    assert torch.inspect(model).data["summary"]["parameters"] == 0
    page = torch.inspect(model, torch.randn(4, 2))
    assert page.data["summary"]["parameters"] == 15 and page.modules["0"]["class"] == "Linear"
    assert model[0].has_uninitialized_params() and model[1].has_uninitialized_params()


def test_outputs_in_a_dataclass():
    @dataclasses.dataclass
    class Output:
        value: torch.Tensor

    class Net(nn.Linear):
        def forward(self, x):
            return Output(super().forward(x))

    page = torch.inspect(Net(2, 3), torch.randn(4, 2))
    assert page.modules[""]["outputs"] == [[4, 3]] and page.data["graph"]


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), 1e30])
def test_updates_that_are_not_finite(factor):
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e30)
    page = torch.inspect(model, torch.ones(1, 2), loss=lambda y: y.sum() * factor, optimizer=optimizer)
    assert "update" not in page.modules[""] and page.html()


def test_loss_without_a_graph():
    frozen = nn.Linear(2, 2).requires_grad_(False)
    assert torch.inspect(frozen, torch.ones(1, 2), loss=torch.sum).data["graph"] is None
    with torch.no_grad():
        assert torch.inspect(nn.Linear(2, 2), torch.ones(1, 2), loss=torch.sum).data["graph"] is None


def test_sparse_gradients_and_outputs():
    page = torch.inspect(nn.Embedding(4, 2, sparse=True), torch.tensor([1]))
    assert page.modules[""]["parameters"][0]["gradient"]["norm"] == pytest.approx(2**0.5, rel=1e-3)

    class Sparse(nn.Module):
        def forward(self, x):
            return x.to_sparse()

    assert torch.inspect(Sparse(), torch.eye(3)).modules[""]["activation"]["mean"] == pytest.approx(1 / 3, rel=1e-3)


def test_page_is_one_file(tmp_path):
    class Odd(nn.Module):
        """Neither a tag that it closes nor a comment that it begins may end the script, or hide its end."""

        def extra_repr(self):
            return "</script><b> <!--<script>"

    path = tmp_path / "page.html"
    page = torch.inspect(nn.Sequential(Odd()), path=path)
    text = path.read_text(encoding="utf-8")
    assert text == page.html() and "</script><b>" not in text and "<!--" not in text
    assert "src=" not in text and "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text
    assert page._repr_html_().startswith("<iframe srcdoc=")


# ---- comparison


def test_comparison(tmp_path):
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    with torch.no_grad():
        b.weight.copy_(a.weight)
        b.bias.copy_(a.bias + torch.tensor([3.0, 4.0]))
    b.register_buffer("extra", torch.zeros(1))
    torch.save({"model": a.state_dict(), "epoch": 3}, tmp_path / "a.pt")
    rows = {row["key"]: row for row in inspection.compare(tmp_path / "a.pt", b).data["comparison"]}
    assert [rows[key]["state"] for key in ("weight", "bias", "extra")] == ["equal", "differs", "only in the second"]
    assert rows["bias"]["distance"] == pytest.approx(5.0)
    rows = inspection.compare(a, nn.Linear(3, 2)).data["comparison"]
    assert rows[0]["state"] == "other shape" and rows[0]["b"] == [2, 3]
    with pytest.raises(TypeError, match="holds no state dict"):
        inspection.compare({"epoch": 1}, a)


@pytest.mark.parametrize("a, b, state", [
    (torch.tensor([1j]), torch.tensor([2j]), "differs"), (torch.tensor([1.0]), torch.tensor([1 + 1j]), "differs"),
    (torch.tensor([float("inf")]), torch.tensor([1.0]), "not finite"), (torch.eye(2).to_sparse(), torch.eye(2), "equal"),
])
def test_comparison_of_odd_values(a, b, state):
    page = inspection.compare({"x": a}, {"x": b})
    assert page.data["comparison"][0]["state"] == state and page.html()


# ---- the command line


def flambeau(*arguments, cwd):
    command = [sys.executable, "-m", "flambeau", "inspect", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd)


def test_command(tmp_path):
    (tmp_path / "net.py").write_text("import torch\nclass Net(torch.nn.Linear):\n    def __init__(self):\n"
                                     "        super().__init__(4, 2)\nmade = Net()\nnumber = 3\n")
    for target in ("net.py:Net", "net.py:made", "net:Net"):
        done = flambeau(target, "--input", "1,4", "-o", "out.html", cwd=tmp_path)
        assert done.returncode == 0 and "10 parameters" in done.stdout, done.stderr
        assert (tmp_path / "out.html").stat().st_size > 10_000
    torch.save(nn.Linear(1, 1).state_dict(), tmp_path / "a.pt")
    done = flambeau("--compare", "a.pt", "a.pt", cwd=tmp_path)
    assert done.returncode == 0 and "2 equal" in done.stdout and (tmp_path / "inspect.html").exists()


@pytest.mark.parametrize("model", [len, nn.Linear, None, lambda x: x])
def test_what_is_no_module_is_refused(model):
    with pytest.raises(TypeError, match="'model' must be a Module, not"):
        torch.inspect(model, torch.ones(2))


@pytest.mark.parametrize("arguments, words", [
    (["net.py"], "expected FILE.py:NAME"), (["absent.py:Net"], "can't open file"), ([], "expected FILE.py:NAME"),
    (["net.py:Nothing"], "its modules are: Net"), (["net.py:number"], "must be a Module"),
    (["net.py:Net", "--input", "1,x"], "sizes such as"),
    (["net.py:Sized"], "Sized(width) needs arguments (missing a required argument: 'width')"),
    (["net.py:make"], "make(*, depth) needs arguments"),
    (["--compare", "absent.pt", "absent.pt"], "No such file"), (["--compare", "net.py", "net.py"], "not a checkpoint"),
])
def test_wrong_command(tmp_path, arguments, words):
    (tmp_path / "net.py").write_text("import torch\nclass Net(torch.nn.Linear):\n    def __init__(self):\n"
                                     "        super().__init__(4, 2)\nnumber = 3\n"
                                     "class Sized(torch.nn.Module):\n    def __init__(self, width): pass\n"
                                     "def make(*, depth): pass\n")
    done = flambeau(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_histogram_of_large_and_odd_arrays():
    from flambeau.inspection._arrays import pictures, statistics

    nothing = statistics(torch.full((3,), float("nan")))
    assert nothing["histogram"] is None and nothing["nonfinite"] == 3 and nothing["mean"] is None
    large = statistics(torch.ones(3_000_000))
    assert sum(large["histogram"]["counts"]) == 1_000_000 and large["norm"] == pytest.approx(3e6**0.5, rel=1e-3)
    huge = statistics(torch.full((4,), 1e30))
    assert sum(huge["histogram"]["counts"]) == 4 and huge["norm"] == pytest.approx(2e30, rel=1e-3)
    picture = pictures("t", np.random.rand(40, 3, 100, 200))
    assert (picture["count"], picture["channels"]) == (16, 3) and picture["width"] <= 48
