"""The graph as seen by users: nodes, edges and saved tensors are PyTorch's, whatever runs underneath."""

import pytest

import flambeau
from _graphs import CALLS, describe, differences, of_other_steps, scope_of, without_unsaved


def graph_of(call, library):
    library.manual_seed(0)
    return describe(eval(call, scope_of(library)))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_graph_is_that_of_pytorch(call):
    import torch

    got, want = (without_unsaved(graph_of(call, library)) for library in (flambeau, torch))
    found = differences(got, want)
    if call in of_other_steps():
        assert found, "this graph is PyTorch's now: strike the call off the list"
    else:
        assert not found


def linear(shape=(4, 5), bias=True):
    flambeau.manual_seed(0)
    x = flambeau.randn(shape, requires_grad=True)
    layer = flambeau.nn.Linear(5, 3, bias=bias)
    return layer(x), x, layer


def names(node):
    """The names along all paths from a node, nested."""
    return [node.name().replace("torch::autograd::", ""), *[names(n) for n, _ in node.next_functions if n is not None]]


LEAF = ["AccumulateGrad"]
LINEAR = {
    ((4, 5), True): ["AddmmBackward0", LEAF, LEAF, ["TBackward0", LEAF]],
    ((4, 5), False): ["MmBackward0", LEAF, ["TBackward0", LEAF]],
    ((2, 4, 5), True): ["ViewBackward0", ["AddmmBackward0", LEAF, ["ViewBackward0", LEAF], ["TBackward0", LEAF]]],
    ((2, 4, 5), False): ["UnsafeViewBackward0", ["MmBackward0", ["ViewBackward0", LEAF], ["TBackward0", LEAF]]],
    ((5,), True): ["ViewBackward0", ["AddmmBackward0", LEAF, ["ViewBackward0", LEAF], ["TBackward0", LEAF]]],
    ((5,), False): ["SqueezeBackward4", ["MmBackward0", ["UnsqueezeBackward0", LEAF], ["TBackward0", LEAF]]],
}


@pytest.mark.parametrize(("shape", "bias"), LINEAR)
def test_linear(shape, bias):
    out, _, _ = linear(shape, bias)
    assert names(out.grad_fn) == LINEAR[shape, bias]
    out.sum().backward()
    assert names(out.grad_fn) == LINEAR[shape, bias]
    steps, _, _ = linear(shape, bias)
    steps.sum().backward()
    assert names(steps.grad_fn) == LINEAR[shape, bias], "looked at only after backward"


def test_the_same_nodes_whenever_one_looks():
    out, x, layer = linear()
    (bias, _), (of_x, _), (t, _) = out.grad_fn.next_functions
    assert bias.variable is layer.bias and of_x.variable is x
    assert t is out.grad_fn.next_functions[2][0]
    assert t.next_functions[0][0].variable is layer.weight
    assert t._sequence_nr() == out.grad_fn._sequence_nr()
    del out
    assert t.next_functions[0][0].variable is layer.weight


def test_saved_values():
    out, x, layer = linear()
    node = out.grad_fn
    assert node._saved_mat1 is not None and (node._saved_mat1 == x).all()
    assert (node._saved_mat2 == layer.weight.t()).all()
    assert node._saved_alpha == 1 and node._saved_mat2_sym_strides == (1, 5)
    assert {"_saved_mat1", "_raw_saved_mat1", "_saved_alpha"} <= {*dir(node)} and "_raw_saved_alpha" not in dir(node)
    assert not hasattr(node, "_saved_self")
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        node._saved_mat1  # noqa: B018


def test_leaves_and_results_are_the_tensors_themselves():
    x = flambeau.ones(2, requires_grad=True)
    y = (x * x).exp()
    assert y.grad_fn.next_functions[0][0]._saved_self is x
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


def test_saved_tensor_hooks_unpack_what_is_shown():
    x = flambeau.ones(2, requires_grad=True)
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: t + 1, lambda t: t * 10):
        y = x.exp()
        out, _, layer = linear()
    assert y.grad_fn._saved_result.tolist() == pytest.approx([37.18282, 37.18282])
    assert (out.grad_fn._saved_mat2 == ((layer.weight + 1) * 10).t()).all()


def test_hooks_on_one_saved_tensor():
    x = flambeau.full((2,), 3.0, requires_grad=True)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t + 1, lambda t: t * 10)
    assert y.grad_fn._saved_self.tolist() == [40, 40] and y.grad_fn._saved_other is x
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [43, 43]
    z = x.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: None, lambda _: flambeau.ones(2))
    assert flambeau.autograd.grad(z.sum(), x)[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="value None"):
        (x * flambeau.ones(2)).grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="AddmmBackward0 is a step of a node that runs as one"):
        linear()[0].grad_fn._raw_saved_mat1.register_hooks(lambda t: t, lambda t: t)


def gradients(hook_on, replace=None):
    """The gradients of a layer of which a node has a hook, and what the hook saw."""
    out, x, layer = linear((2, 4, 5))
    seen = []

    def hook(inputs, outputs):
        seen.append([None if g is None else tuple(g.shape) for g in (*inputs, *outputs)])
        return replace and tuple([g * replace for g in inputs])

    hook_on(out.grad_fn).register_hook(hook)
    out.square().sum().backward()
    return [t.grad for t in (x, layer.weight, layer.bias)], seen


NODES = {
    "view": (lambda node: node, [(8, 3), (2, 4, 3)]),
    "addmm": (lambda node: node.next_functions[0][0], [(3,), (8, 5), (5, 3), (8, 3)]),
    "t": (lambda node: node.next_functions[0][0].next_functions[2][0], [(3, 5), (5, 3)]),
    "view of x": (lambda node: node.next_functions[0][0].next_functions[1][0], [(2, 4, 5), (8, 5)]),
}


@pytest.mark.parametrize("name", NODES)
def test_hooks_on_steps(name):
    find, shapes = NODES[name]
    plain, _ = gradients(lambda node: flambeau.ones(1, requires_grad=True).exp().grad_fn)
    got, seen = gradients(find)
    assert seen == [shapes]
    for g, w in zip(got, plain):
        flambeau.testing.assert_close(g, w)
    doubled, _ = gradients(find, 2)
    factors = {"t": (1, 2, 1), "view of x": (2, 1, 1)}.get(name, (2, 2, 2))
    for g, w, factor in zip(doubled, plain, factors):
        flambeau.testing.assert_close(g, w * factor)


@pytest.mark.parametrize("find", [lambda node: node, lambda node: node.next_functions[0][0]], ids=["last", "first"])
def test_hooks_on_an_index_whose_gradient_could_be_added_in_place(find):
    x = flambeau.ones(2, 3, requires_grad=True)
    base = x * 1
    part = base[0, 1:]
    find(part.grad_fn).register_hook(lambda inputs, outputs: (inputs[0] * 5,))
    (base * 2).sum().add(part.sum()).backward()
    assert x.grad.tolist() == [[2, 7, 7], [2, 2, 2]]


def test_steps_in_half_precision():
    layer, seen = flambeau.nn.Linear(5, 3, dtype=flambeau.bfloat16), []
    out = layer(flambeau.ones(2, 5, dtype=flambeau.bfloat16, requires_grad=True))
    out.grad_fn.next_functions[2][0].register_hook(lambda inputs, outputs: seen.append(inputs[0].dtype))
    assert out.grad_fn._saved_mat1.dtype is flambeau.bfloat16
    out.sum().backward()
    assert seen == [layer.weight.grad.dtype] == [flambeau.bfloat16]
    assert (layer.weight.grad == 2).all()


def test_hooks_on_steps_do_not_go_with_create_graph():
    out, x, _ = linear()
    out.grad_fn.next_functions[2][0].register_prehook(lambda grads: None)
    with pytest.raises(RuntimeError, match="AddmmBackward0 has hooks"):
        flambeau.autograd.grad(out.sum(), x, create_graph=True)


def test_a_step_is_no_input_of_grad():
    out, _, _ = linear()
    edge = flambeau.autograd.graph.GradientEdge(out.grad_fn.next_functions[2][0], 0)
    with pytest.raises(RuntimeError, match="TBackward0 is a step of a node that runs as one"):
        flambeau.autograd.grad(out.sum(), edge)


def test_looking_records_nothing_on_tensors():
    out, x, layer = linear()
    with flambeau.no_grad(), flambeau.autograd.graph.saved_tensors_hooks(lambda t: pytest.fail(), lambda t: t):
        names(out.grad_fn)
    out.sum().backward()
    assert x.grad is not None and layer.weight.grad is not None
