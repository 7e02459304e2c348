"""Histories, graphs and memory."""

import tracemalloc

import pytest

import flambeau as torch
from flambeau import debug, nn


def test_watch_follows_the_steps():
    model = nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with debug.watch(model, every=2) as norms:
        for _ in range(4):
            optimizer.zero_grad()
            before = model.weight.detach().clone()
            model(torch.tensor([[3.0, 4.0]])).sum().backward()
            optimizer.step()
    samples = norms.history["weight"]
    assert [s.step for s in samples] == [0, 2]
    assert [s.grad for s in samples] == pytest.approx([5.0, 5.0]) and samples[0].update == pytest.approx(2.5)
    assert samples[0].ratio == pytest.approx(2.5 / samples[0].weight)
    assert torch.equal(before - 0.5 * torch.tensor([[3.0, 4.0]]), model.weight)
    assert "weight" in str(norms) and "2.5" in f"{samples[0].update:.1f}"
    optimizer.step()
    assert len(norms.history["weight"]) == 2


def test_watch_sees_only_its_model():
    mine, other = nn.Linear(1, 1), nn.Linear(1, 1)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    with debug.watch(mine) as norms:
        other(torch.ones(1, 1)).sum().backward()
        optimizer.step()
    assert norms.history == {"weight": [], "bias": []} and "no step has changed it" in str(norms)


def test_watch_of_a_frozen_parameter_and_wrong_interval():
    model = nn.Linear(2, 1)
    model.bias.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with debug.watch(model) as norms:
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    assert norms.history["bias"][0].grad is None and norms.history["bias"][0].update == 0
    with pytest.raises(ValueError, match="every must be at least 1, got every=0"):
        debug.watch(model, every=0)


def test_graph_names_parameters_and_shared_nodes():
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    y = model(torch.ones(1, 2))
    text = debug.explain_graph((y * y + y).sum(), model)
    assert "0.weight: leaf [2, 2] float32" in text and "0.bias: leaf [2] float32" in text
    assert text.count("TanhBackward0 →") == 1 and text.count("TanhBackward0, line ") == 2


def test_graph_that_is_none_or_too_long():
    assert "has no graph" in debug.explain_graph(torch.ones(1))
    assert "a leaf" in debug.explain_graph(torch.ones(1, requires_grad=True))
    x = torch.ones(1, requires_grad=True)
    for _ in range(3000):
        x = x + 1
    assert debug.explain_graph(x, max_nodes=50).splitlines()[-1] == "… and more: 50 nodes are shown"


def test_memory_counts_what_is_saved():
    model = nn.Sequential(nn.Linear(128, 128), nn.Sigmoid(), nn.Linear(128, 1))
    model[0].weight.grad = torch.ones(128, 128)
    report = debug.memory(model, torch.ones(512, 128))
    activation = 512 * 128 * 4
    assert report.saved_bytes["0"] >= activation and report.saved_bytes["1"] >= activation
    assert report.saved_bytes["2"] < activation < report.peak < 8 * activation
    assert report.events[0][:3] == ("forward", "begin", "") and report.events[-1].alive < activation
    assert torch.equal(model[0].weight.grad, torch.ones(128, 128)) and model[2].weight.grad is None
    assert "peak:" in str(report) and not tracemalloc.is_tracing()


def test_memory_of_a_model_that_fails():
    model = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(RuntimeError):
        debug.memory(model, torch.ones(1, 3))
    assert not tracemalloc.is_tracing() and not any(m._forward_hooks for m in model.modules())
    with pytest.raises(ValueError, match="backward=False"):
        debug.memory(nn.Flatten(), torch.ones(1, 3))
    assert debug.memory(nn.Flatten(), torch.ones(1, 3), backward=False).peak >= 0


def test_profile_nests_ops_in_modules(tmp_path):
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    report = debug.profile(model, torch.ones(3, 4), path=tmp_path / "flame.html")
    forward, backward = report.flame["inside"]
    (whole,) = (part for part in forward["inside"] if part["name"].startswith("nn.Module"))
    assert [part["name"] for part in whole["inside"]] == ["nn.Module: 0 (Linear)", "nn.Module: 1 (Sequential)"]
    assert [part["name"] for part in whole["inside"][0]["inside"]] == ["aten::linear"]
    assert any(part["name"] == "autograd::AddmmBackward0" for part in backward["inside"])
    assert whole["time"] >= sum(part["time"] for part in whole["inside"]) > 0
    assert "aten::linear" in str(report) and all(p.grad is None for p in model.parameters())
    text = (tmp_path / "flame.html").read_text(encoding="utf-8")
    assert "nn.Module: 1.0 (ReLU)" in text and "https://" not in text
    with pytest.raises(RuntimeError):
        debug.profile(model, torch.ones(3, 5))
