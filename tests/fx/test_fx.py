"""Programs as graphs. Each program is traced, runs as before, and under the oracle gives PyTorch's graph and code."""

import copy
import io
import math
import operator
import pickle

import pytest

import flambeau


def programs(torch):
    """{name: (what is traced, inputs)}"""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)
            self.register_buffer("shift", torch.ones(1))
            self.weight = nn.Parameter(torch.full((4,), 0.5))
            self.layers = nn.Sequential(nn.ReLU(), nn.Identity())

        def forward(self, x, scale=2.0, *, flag=None):
            y = F.relu(self.conv(x), inplace=True) + scale * self.shift
            y = torch.cat([y, y], dim=1)[:, 1:3]
            z = self.layers(y.mean(dim=(2, 3)).view(x.shape[0], -1))
            first, second = z.chunk(2, 1)
            z = torch.max(z) ** 2 - 1 // torch.tensor(3.0)
            return {"a": -z * self.weight.sum(), "b": (first, [second])}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = Block()
            self.BatchNorm = nn.BatchNorm1d(2)

        def forward(self, x):
            return self.BatchNorm(self.stem(x)["b"][0].expand(-1, 2))

    def operators(x, y=3):
        z = (x + y) * 2 / x - y
        z = z @ z.T & z.bool() if False else z @ z.T
        return (z > 0).float() + z.size(0) + abs(z) + (z[0, None] == z[..., :1]).sum()

    def keywords(x):
        return torch.sum(x, dim=1, keepdim=True).to(dtype=torch.float64).clamp(min=0.0, max=math.inf)

    def inplace(x):
        y = x.clone()
        y += 1
        y.add_(1)
        return y

    def stars(*args, **kwargs):
        return args[0] * 2 - args[1]

    image, square = torch.linspace(-1, 1, 2 * 3 * 5 * 5).view(2, 3, 5, 5), torch.linspace(1, 2, 9).view(3, 3)
    return {
        "block": (Block(), (image,)), "net": (Net().eval(), (image,)), "operators": (operators, (square,)),
        "keywords": (keywords, (square,)), "inplace": (inplace, (square,)), "stars": (stars, (square, square + 1)),
        "sequential": (nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)), (square,)),
    }


def leaves(value):
    return flambeau.utils._pytree.tree_leaves(value)


NAMES = list(programs(flambeau))


@pytest.mark.parametrize("name", NAMES)
def test_a_traced_program_runs_as_before(name):
    program, inputs = programs(flambeau)[name]
    traced = flambeau.fx.symbolic_trace(program)
    traced.graph.lint()
    expected = leaves(program(*inputs))
    file = io.BytesIO()
    flambeau.save(traced, file)
    file.seek(0)
    modules = [
        traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), flambeau.fx.Transformer(traced).transform(),
        flambeau.load(file, weights_only=False), flambeau.fx.symbolic_trace(traced),
    ]
    for call in [*modules, flambeau.fx.Interpreter(traced).run]:
        assert all(flambeau.equal(a, b) for a, b in zip(leaves(call(*inputs)), expected, strict=True))


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_graphs_are_pytorchs(name):
    import torch
    import torch.fx

    ours = flambeau.fx.symbolic_trace(programs(flambeau)[name][0])
    theirs = torch.fx.symbolic_trace(programs(torch)[name][0])
    assert ours.code == theirs.code
    assert str(ours.graph) == str(theirs.graph)
    assert str(ours) == str(theirs)
    for mine, other in zip(ours.graph.nodes, theirs.graph.nodes, strict=True):
        assert (mine.op, mine.name, repr(mine.args), repr(mine.kwargs), repr(list(mine.users))) == (
            other.op, other.name, repr(other.args), repr(other.kwargs), repr(list(other.users)))


def test_stars_and_keyword_only_parameters():
    def program(x, *rest, scale, bias=1.0, **more):
        return rest[0] * scale + x + bias + more["a"]

    x = flambeau.ones(2)
    traced = flambeau.fx.symbolic_trace(program)
    assert [node.target for node in traced.graph.nodes if node.op == "placeholder"] == ["x", "*rest", "scale", "bias", "**more"]
    for keywords in ({"scale": 2}, {"scale": 3, "bias": 4}):
        assert flambeau.equal(traced(x, x + 1, **keywords, a=5), program(x, x + 1, **keywords, a=5))


def test_changing_a_graph():
    traced = flambeau.fx.symbolic_trace(lambda x, y: (x + y).relu() * (x - y))
    for node in traced.graph.nodes:
        if node.target is operator.add:
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(flambeau.mul, node.args)
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    traced.graph.lint()
    assert [node.name for node in traced.graph.nodes] == ["x", "y", "mul_1", "relu", "sub", "mul", "output"]
    assert traced.recompile() and traced(flambeau.tensor(3.0), flambeau.tensor(2.0)) == 6
    relu = next(node for node in traced.graph.nodes if node.name == "relu")
    with pytest.raises(RuntimeError, match="still had 1 users"):
        traced.graph.erase_node(relu)
    with pytest.raises(NotImplementedError, match="does not support mutation"):
        traced.graph.call_function(max, ([relu],)).args[0].append(1)
    assert traced.graph.eliminate_dead_code() and not traced.graph.eliminate_dead_code()


def test_uses_before_definitions_are_found():
    graph = flambeau.fx.Graph()
    x = graph.placeholder("x")
    with graph.inserting_before(x):
        graph.call_function(flambeau.neg, (x,))
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        graph.lint()


def test_leaves_of_the_trace():
    class Leaf(flambeau.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    class Tracer(flambeau.fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, Leaf) or super().is_leaf_module(m, name)

    model = flambeau.nn.Sequential(Leaf(), flambeau.nn.ReLU())
    graph = Tracer().trace(model)
    assert [node.op for node in graph.nodes] == ["placeholder", "call_module", "call_module", "output"]
    assert flambeau.fx.GraphModule(model, graph)(flambeau.tensor([-3.0])).item() == 3
    with pytest.raises(flambeau.fx.TraceError, match="cannot be used as inputs to control flow"):
        flambeau.fx.symbolic_trace(model)
    assert flambeau.nn.Module.__call__.__qualname__ == "Module.__call__"


@flambeau.fx.wrap
def branch(x):
    return x if x.sum() > 0 else -x


flambeau.fx.wrap("len")


def test_wrapped_functions():
    traced = flambeau.fx.symbolic_trace(lambda x: branch(x) * len(x) + math.floor(x.size(0)))
    assert [node.name for node in traced.graph.nodes if node.op == "call_function"] == ["branch", "len_1", "mul", "floor", "add"]
    assert traced(flambeau.tensor([-3.0, 1.0])).tolist() == [8.0, 0.0]
    with pytest.raises(NotImplementedError, match="top level"):
        flambeau.fx.wrap(branch)


@pytest.mark.parametrize("program, kind, words", [
    (lambda x: [y for y in x], flambeau.fx.TraceError, "cannot be iterated"),
    (lambda x: max(x, 1), flambeau.fx.TraceError, "control flow"),
    (lambda x: x in [1], flambeau.fx.TraceError, "control flow"),
    (lambda x: flambeau.nn.ReLU()(x), NameError, "not installed as a submodule"),
    (lambda x: x + {1: object()}[1], NotImplementedError, "argument of type"),
    (lambda *x: flambeau.add(*x), flambeau.fx.TraceError, "cannot be iterated"),
    (lambda **x: flambeau.add(**x), flambeau.fx.TraceError, "cannot be iterated"),
])
def test_what_cannot_be_traced(program, kind, words):
    with pytest.raises(kind, match=words):
        flambeau.fx.symbolic_trace(program)


def test_tracebacks_show_the_code_of_the_graph():
    import traceback

    traced = flambeau.fx.symbolic_trace(lambda x: x.view(7) + 1)
    with pytest.raises(RuntimeError) as caught:
        traced(flambeau.ones(2))
    assert "x.view(7)" in "".join(traceback.format_exception(caught.value))
