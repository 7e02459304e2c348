"""``grad`` and ``backward``: outputs, inputs and gradients that they accept; nested backward passes."""

import threading

import numpy as np
import pytest

import flambeau
from _programs import Programs, differences, raised
from flambeau.engines import NUMPY

programs = Programs("autograd_gradients.json")


def some(t):
    """A leaf, what was made of it, a scalar and a vector that come from both, and how to get an edge."""
    a = t.ones(2, requires_grad=True)
    b = t.ones(2, requires_grad=True) * 3
    return a, b, (a * b).sum(), a * b, t.autograd.graph.get_gradient_edge


def unused(t):
    return t.ones(1, requires_grad=True)


GRAD = {
    "dict": lambda t, a, b, s, v, edge: ((s, {"a": a, "b": b}), {}),
    "dict, unused": lambda t, a, b, s, v, edge: ((s, {"a": a, "z": unused(t)}), {"allow_unused": True}),
    "dict, zeros": lambda t, a, b, s, v, edge: ((s, {"a": a, "z": unused(t)}), {"materialize_grads": True}),
    "dict, nothing": lambda t, a, b, s, v, edge: ((s, {}), {}),
    "dict, no tensor": lambda t, a, b, s, v, edge: ((s, {"a": 1}), {}),
    "dict of outputs": lambda t, a, b, s, v, edge: (({"s": s}, a), {}),
    "edges": lambda t, a, b, s, v, edge: (([edge(v)], [edge(a), b], [t.ones(2)]), {}),
    "edge of a scalar": lambda t, a, b, s, v, edge: ((edge(s), edge(a)), {}),
    "edge of a vector": lambda t, a, b, s, v, edge: ((edge(v), edge(a)), {}),
    "edge, unused": lambda t, a, b, s, v, edge: ((s, edge(unused(t))), {}),
    "edge, unused, allowed": lambda t, a, b, s, v, edge: ((s, edge(unused(t))), {"allow_unused": True}),
    "edge, unused, zeros": lambda t, a, b, s, v, edge: ((s, edge(unused(t))), {"materialize_grads": True}),
    "edge, used, zeros": lambda t, a, b, s, v, edge: ((s, edge(a)), {"materialize_grads": True}),
    "no inputs": lambda t, a, b, s, v, edge: ((s, []), {}),
    "no outputs": lambda t, a, b, s, v, edge: (([], a), {}),
    "a number as input": lambda t, a, b, s, v, edge: ((s, 1), {}),
    "numbers as inputs": lambda t, a, b, s, v, edge: ((s, [1]), {}),
    "None as input": lambda t, a, b, s, v, edge: ((s, [None]), {}),
    "a number as output": lambda t, a, b, s, v, edge: ((1, a), {}),
    "numbers as outputs": lambda t, a, b, s, v, edge: (([1], a), {}),
    "a generator": lambda t, a, b, s, v, edge: ((s, (x for x in (a, b))), {}),
    "an input twice": lambda t, a, b, s, v, edge: ((s, [a, a]), {}),
    "no gradient wanted": lambda t, a, b, s, v, edge: ((s, t.ones(2)), {"allow_unused": True}),
    "a gradient for a list": lambda t, a, b, s, v, edge: (([v], a, t.ones(2)), {}),
    "too few gradients": lambda t, a, b, s, v, edge: (([v, v], a, [t.ones(2)]), {}),
    "too many gradients": lambda t, a, b, s, v, edge: (([v], a, [t.ones(2), t.ones(2)]), {}),
    "no gradient of a vector": lambda t, a, b, s, v, edge: (([v], a, [None]), {}),
    "a number as gradient": lambda t, a, b, s, v, edge: (([v], a, [1]), {}),
    "a gradient of another shape": lambda t, a, b, s, v, edge: ((edge(v), a, t.ones(3)), {}),
    "a complex gradient": lambda t, a, b, s, v, edge: ((v, a, t.ones(2, dtype=t.complex64)), {}),
    "an integer gradient": lambda t, a, b, s, v, edge: ((v, a, t.ones(2, dtype=t.int64)), {}),
    "unused, but zeros": lambda t, a, b, s, v, edge: ((s, a), {"allow_unused": False, "materialize_grads": True}),
    "batched": lambda t, a, b, s, v, edge: ((v, a, t.ones(3, 2)), {"is_grads_batched": True}),
    "batched, dict": lambda t, a, b, s, v, edge: ((v, {"a": a}, t.ones(3, 2)), {"is_grads_batched": True}),
    "batched, unused": lambda t, a, b, s, v, edge: (
        (v, [a, unused(t)], t.ones(3, 2)), {"is_grads_batched": True, "allow_unused": True}),
    "batched, zeros": lambda t, a, b, s, v, edge: (
        (v, [a, unused(t)], t.ones(3, 2)), {"is_grads_batched": True, "materialize_grads": True}),
    "batched, another shape": lambda t, a, b, s, v, edge: ((v, a, t.ones(3, 3)), {"is_grads_batched": True}),
    "batched, no gradient": lambda t, a, b, s, v, edge: ((v, a), {"is_grads_batched": True}),
    "batched, two sizes": lambda t, a, b, s, v, edge: (
        ([v, v], a, [t.ones(3, 2), t.ones(2, 2)]), {"is_grads_batched": True}),
}
BACKWARD = {
    "dict": lambda t, a, b, s, v, edge: ((s,), {"inputs": {"a": a}}),
    "edge": lambda t, a, b, s, v, edge: ((s,), {"inputs": edge(a)}),
    "edges": lambda t, a, b, s, v, edge: ((s,), {"inputs": [edge(a), edge(b)]}),
    "edge of a non-leaf": lambda t, a, b, s, v, edge: ((s,), {"inputs": [edge(b)]}),
    "a non-leaf": lambda t, a, b, s, v, edge: ((s,), {"inputs": [b]}),
    "from an edge": lambda t, a, b, s, v, edge: ((edge(s),), {}),
    "from an edge with a gradient": lambda t, a, b, s, v, edge: ((edge(s), t.ones(())), {}),
    "from an edge, another shape": lambda t, a, b, s, v, edge: ((edge(s), t.ones(3)), {}),
    "from a dict": lambda t, a, b, s, v, edge: (({"s": s},), {}),
    "from nothing": lambda t, a, b, s, v, edge: (([],), {}),
    "into nothing": lambda t, a, b, s, v, edge: ((s,), {"inputs": []}),
    "into a constant": lambda t, a, b, s, v, edge: ((s,), {"inputs": [t.ones(1)]}),
    "into a number": lambda t, a, b, s, v, edge: ((s,), {"inputs": [1]}),
    "into a text": lambda t, a, b, s, v, edge: ((s,), {"inputs": "ab"}),
    "old name": lambda t, a, b, s, v, edge: ((v,), {"grad_variables": t.ones(2)}),
    "both names": lambda t, a, b, s, v, edge: ((v, t.ones(2)), {"grad_variables": t.ones(2)}),
}


@programs
def arguments_of_grad(t):
    table = {}
    for name, call in GRAD.items():
        args, kwargs = call(t, *some(t))
        results = []
        error = raised(lambda args=args, kwargs=kwargs, results=results: results.append(t.autograd.grad(*args, **kwargs)))
        table[name] = [error, results]
    return table


@programs
def arguments_of_backward(t):
    table = {}
    for name, call in BACKWARD.items():
        a, b, *rest = some(t)
        args, kwargs = call(t, a, b, *rest)
        error = raised(lambda args=args, kwargs=kwargs: t.autograd.backward(*args, **kwargs))
        table[name] = [error, a.grad, b.retains_grad, b.grad if b.retains_grad else None]
    return table


@programs
def gradients_of_an_input_that_was_named_twice(t):
    x = t.ones(2, requires_grad=True)
    first, second = t.autograd.grad((x * 3).sum(), [x, x])
    return [first is second, first]


@programs
def zeros_can_be_differentiated_with_the_rest(t):
    x, z = t.ones(2, requires_grad=True), t.ones(3, requires_grad=True)
    grads = t.autograd.grad((x * x).sum(), [x, z], create_graph=True, materialize_grads=True)
    return [g.requires_grad for g in grads]


@programs
def batches_free_the_graph(t):
    x = t.ones(2, requires_grad=True)
    y = x * x
    t.autograd.grad(y, x, t.ones(3, 2), is_grads_batched=True)
    return raised(lambda: t.autograd.grad(y, x, t.ones(2)))


@programs
def writes_between_first_and_second_derivatives(t):
    """What the recorded backward saved is what forward had saved: a write to it is noticed there too."""
    table = {}
    for name, function in {"pow": lambda x, c: x**3, "mul": lambda x, c: x * x * c, "exp": lambda x, c: x.exp() * c,
                           "tanh": lambda x, c: x.tanh(), "div": lambda x, c: c / x}.items():
        for who in ("input", "constant", "output", "nobody"):
            x, c = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0])
            middle = x * 1
            out = function(middle, c)
            grad, = t.autograd.grad(out.sum(), middle, create_graph=True)
            with t.no_grad():
                {"input": middle, "constant": c, "output": out, "nobody": t.ones(1)}[who].add_(1)
            table[f"{name}, {who}"] = raised(lambda grad=grad, x=x: t.autograd.grad(grad.sum(), x))
    return table


# ---- results that may be written to, since no gradient needs them

RESULTS = ["x.sort(0)", "torch.sort(x, 1, descending=True)", "x.max(0)", "x.min(1)", "x.median(0)", "x.nanmedian(0)",
           "x.mode(0)", "x.kthvalue(2, 0)", "x.topk(2)", "x.cummax(0)", "x.cummin(0)", "x / y", "torch.std_mean(x, 0)[::-1]",
           "(x / 9).erfinv()", "torch.nn.functional.softsign(x)", "torch.nn.functional.normalize(x)", "x * y", "x + y"]


@programs
def results_that_may_be_written_to(t):
    table = {}
    for code in RESULTS:
        x = t.tensor([[0.3, -1.2, 2.0], [1.1, 0.4, -0.6]], requires_grad=True)
        y = t.tensor([[1.3, 0.2, -0.7], [0.4, 1.4, 0.6]], requires_grad=True)
        results = eval(code, {"torch": t, "x": x * 1, "y": y * 1})
        first = results[0] if isinstance(results, tuple) else results
        loss = (first * 2).sum()
        first.zero_()
        table[code] = [raised(loss.backward), x.grad, y.grad]
    return table


test_gradients, test_recording_of_gradients = programs.tests()


# ---- passes inside of passes


def nested(t, depth, seen):
    """The gradient through a Function whose backward runs backward, `depth` levels deep."""

    class Nested(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.level = level
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if not ctx.level:
                seen.append(t.is_grad_enabled())
                return g, None
            inner = t.ones(2, requires_grad=True)
            with t.enable_grad():
                Nested.apply(inner, ctx.level - 1).sum().backward()
            return g + inner.grad, None

    x = t.ones(2, requires_grad=True)
    Nested.apply(x, depth).sum().backward()
    return x.grad


@pytest.mark.parametrize("depth", [1, 15, 16, 17, 150, 500])
def test_backward_inside_of_backward(depth):
    seen = []
    assert nested(flambeau, depth, seen).tolist() == [depth + 1.0] * 2
    assert seen == [False]


@pytest.mark.oracle
def test_backward_inside_of_backward_as_torch_does():
    torch = pytest.importorskip("torch")
    got, want = [], []
    assert differences(nested(flambeau, 150, got).tolist(), nested(torch, 150, want).tolist()) == []
    assert got == want


def deep_call(function, depth):
    """Calls `function` at the bottom of `depth` passes of backward."""

    class Deep(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.level = level
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if not ctx.level:
                function()
            else:
                with flambeau.enable_grad():
                    Deep.apply(flambeau.ones(1, requires_grad=True), ctx.level - 1).backward()
            return g, None

    Deep.apply(flambeau.ones(1, requires_grad=True), depth).backward()


def test_deep_passes_take_the_callers_state_along():
    state = []

    def look():
        state.append((flambeau.is_grad_enabled(), flambeau.autograd.anomaly_mode.is_anomaly_enabled(),
                      str(flambeau.get_default_device()), threading.current_thread() is threading.main_thread()))

    with flambeau.autograd.set_detect_anomaly(True), flambeau.device("meta"), flambeau.device("cpu"):
        deep_call(look, 40)
    assert state == [(False, True, "cpu", False)]


def test_an_error_deep_inside_comes_out():
    def fail():
        raise ValueError("deep inside")

    with pytest.raises(ValueError, match="deep inside"):
        deep_call(fail, 100)
    x = flambeau.ones(1, requires_grad=True)
    (x * 2).backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize("shape", [(3,), (200, 300)])
def test_no_gradient_is_lost_among_threads(shape):
    w = flambeau.zeros(shape, requires_grad=True)

    def run():
        for _ in range(100):
            (w * 1).sum().backward()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (w.grad == 400).all()


# ---- gradients that are added in place


def test_a_referenced_gradient_is_not_accumulated_in_place():
    x = flambeau.ones(3, requires_grad=True)
    y = x * 2
    seen = []
    used = [y * 3, y * 5, y[1:] * 7]
    for part in used:
        part.register_hook(seen.append)
    y.register_hook(seen.append)
    y.retain_grad()
    flambeau.cat(used).sum().backward()
    assert [g.tolist() for g in seen[:3]] == [[1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    assert y.grad.tolist() == seen[3].tolist() == [8.0, 15.0, 15.0]
    assert x.grad.tolist() == [16.0, 30.0, 30.0]


def test_the_gradient_argument_of_backward_is_not_modified():
    x, g = flambeau.ones(3, requires_grad=True), flambeau.ones(3)
    y = x.view(3)
    flambeau.autograd.backward([y, y[1:], x * 2], [g, flambeau.ones(2), g])
    assert g.tolist() == [1.0, 1.0, 1.0]
    assert x.grad.tolist() == [3.0, 4.0, 4.0]


@pytest.mark.parametrize("keys", [
    [0, 1, 2], [slice(1), slice(1, None), 0], [(slice(None), 1), (None, 2), ...], [(1, 2), (1, 2), (0, 0)],
    [slice(None, None, 2), (..., 0), 2],
], ids=str)
def test_gradients_of_indices_add_up(keys):
    x = flambeau.arange(12.0, dtype=flambeau.float64).view(3, 4).requires_grad_()
    wanted = np.zeros((3, 4))
    for factor, key in enumerate(keys, 1):
        wanted[key] += factor
    sum([(x[key] * factor).sum() for factor, key in enumerate(keys, 1)]).backward()
    np.testing.assert_array_equal(x.grad.numpy(), wanted)
    y = x * 1
    sum([(y[key] * factor).sum() for factor, key in enumerate(keys, 1)]).backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * wanted)


@pytest.mark.parametrize("names", [["x"], ["w"], ["w", "x"]], ids=str)
@pytest.mark.parametrize("ask", ["grad", "backward"])
def test_unrequested_gradients_are_not_computed(monkeypatch, names, ask):
    kernels = {"x": "conv_input", "w": "conv_weight"}
    calls = []
    for kernel in kernels.values():
        compute = getattr(NUMPY, kernel)
        monkeypatch.setattr(NUMPY, kernel, lambda *a, _f=compute, _n=kernel, **k: (calls.append(_n), _f(*a, **k))[1])
    leaves = {"x": flambeau.randn(2, 3, 6, requires_grad=True), "w": flambeau.randn(4, 3, 2, requires_grad=True)}
    y = flambeau.nn.functional.conv1d(leaves["x"], leaves["w"])
    y.sum().backward(retain_graph=True)
    wanted, calls[:] = {name: leaves[name].grad for name in names}, []
    for leaf in leaves.values():
        leaf.grad = None
    asked = [leaves[name] for name in names]
    if ask == "grad":
        got = flambeau.autograd.grad(y.sum(), asked)
    else:
        y.sum().backward(inputs=asked)
        got = [leaf.grad for leaf in asked]
    assert sorted(calls) == sorted([kernels[name] for name in names])
    assert all(map(flambeau.equal, got, wanted.values()))
