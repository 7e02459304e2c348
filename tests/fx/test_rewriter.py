"""Subgraph rewriting, shape propagation and fusion, compared with PyTorch."""

import pytest

import flambeau
from flambeau.fx.experimental.optimization import fuse as flambeau_fuse

REPLACEMENTS = {  # program, pattern, replacement
    "a method": (lambda t: lambda x: (x + 1).relu() * 2, lambda t: lambda a: a.relu(), lambda t: lambda a: t.tanh(a)),
    "twice, chained": (lambda t: lambda x: x.relu().relu(), lambda t: lambda a: a.relu(), lambda t: lambda a: a.tanh()),
    "two inputs": (lambda t: lambda x: t.add(x, x * 3).sum(), lambda t: lambda a, b: t.add(a, b), lambda t: lambda a, b: t.mul(b, a)),
    "several nodes": (
        lambda t: lambda x: t.relu(x * 2 + 1).sum(dim=0), lambda t: lambda a: a * 2 + 1, lambda t: lambda a: (a + 1).exp(),
    ),
    "constants must agree": (lambda t: lambda x: x.sum(dim=1) + x.sum(dim=0), lambda t: lambda a: a.sum(dim=0), lambda t: lambda a: a.mean()),
    "a value that others use": (lambda t: lambda x: (x * 2).relu() + x * 3, lambda t: lambda a: (a * 2).relu(), lambda t: lambda a: a.neg()),
    "used outside": (
        lambda t: lambda x: (lambda y: y.relu() + y)(x * 2), lambda t: lambda a: (a * 2).relu(), lambda t: lambda a: a.neg(),
    ),
    "no match": (lambda t: lambda x: x + 1, lambda t: lambda a: a.relu(), lambda t: lambda a: a),
}


def replaced(t, name):
    program, pattern, replacement = (make(t) for make in REPLACEMENTS[name])
    traced = t.fx.symbolic_trace(program)
    matches = t.fx.replace_pattern(traced, pattern, replacement)
    traced.graph.lint()
    x = t.arange(9.0).view(3, 3) / 4 - 1
    nodes = [(node.op, getattr(node.target, "__name__", str(node.target))) for node in traced.graph.nodes]
    return len(matches), nodes, traced(x).tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("name", REPLACEMENTS)
def test_replaced_like_pytorch(name):
    import torch
    import torch.fx

    (count, nodes, values), (their_count, their_nodes, theirs) = replaced(flambeau, name), replaced(torch, name)
    assert (count, sorted(nodes)) == (their_count, sorted(their_nodes))  # independent nodes may change places
    flambeau.testing.assert_close(flambeau.tensor(values), flambeau.tensor(theirs))


def test_replaced():
    count, nodes, _ = replaced(flambeau, "a method")
    assert count == 1
    assert [name for _, name in nodes] == ["x", "add", "tanh", "mul", "output"]


def test_a_pattern_computes_something():
    traced = flambeau.fx.symbolic_trace(lambda x: x + 1)
    with pytest.raises(ValueError, match="one value that it computes"):
        flambeau.fx.replace_pattern(traced, lambda a: a, lambda a: a)


def test_batch_norms_go_into_convolutions():
    nn = flambeau.nn
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 2, 1), nn.ReLU(), nn.BatchNorm2d(2)).eval()
    with flambeau.no_grad():
        model[1].running_mean.fill_(0.5)
        model[1].weight.fill_(2.0)
    fused = flambeau_fuse(model)
    x = flambeau.randn(2, 1, 5, 5)
    flambeau.testing.assert_close(fused(x), model(x))
    assert [type(m).__name__ for m in fused.children()] == ["Conv2d", "ReLU", "Conv2d", "ReLU", "BatchNorm2d"]
    assert isinstance(model[1], nn.BatchNorm2d)
