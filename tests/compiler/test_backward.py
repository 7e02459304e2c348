"""The backward of a compiled function, run after it: gradients are eager ones, and nothing that it does is lost."""

import types

import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("write", [
    lambda y: y.detach().zero_(), lambda y: y.detach()[0].fill_(7), lambda y: y.add_(1),
], ids=["detached", "a part", "recorded"])
@pytest.mark.parametrize("function", [torch.exp, torch.sigmoid, lambda x: x.tanh().clone()])
def test_results_may_be_written_to_before_backward(function, write, device):
    """A program keeps what its backward needs in memory of its own."""
    compiled = torch.compile(function)
    for _ in range(3):
        x, other = [torch.tensor([0.5, 1.0], device=device, requires_grad=True) for _ in range(2)]
        function(x).sum().backward()
        compiled(torch.ones(2, device=device, requires_grad=True))
        y = compiled(other)
        write(y)
        y.sum().backward()
        torch.testing.assert_close(other.grad, x.grad)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, change):
        ctx.change = change
        return x * 2

    @staticmethod
    def backward(ctx, g):
        ctx.change(g)
        return g * 2, None


def hooked(x, change):
    y = x * 2
    y.register_hook(lambda g: change(g))
    return y.square()


def hooked_module(x, change):
    layer = nn.ReLU()
    layer.register_full_backward_hook(lambda module, inputs, outputs: change(outputs[0]))
    return layer(x * 3)


@pytest.mark.parametrize("through", [Doubled.apply, hooked, hooked_module], ids=["Function", "hook", "module"])
@pytest.mark.parametrize(("change", "what"), [
    (lambda state: lambda g: state.log.append(len(state.log)), "a list"),
    (lambda state: lambda g: setattr(state, "last", g.detach()), "a SimpleNamespace"),
    (lambda state: lambda g: state.total.add_(g.detach()), r"a tensor float32\[2\]"),
], ids=["list", "attribute", "tensor"])
def test_what_backward_changes_is_changed_at_every_backward(through, change, what):
    def run(wrap):
        state = types.SimpleNamespace(log=[], last=None, total=torch.zeros(2))
        own = change(state)
        function, found = wrap(lambda x: through(x, own)), []
        for i in range(4):
            x = torch.full((2,), float(i + 1), requires_grad=True)
            function(x).sum().backward()
            found.append((x.grad.tolist(), *map(str, vars(state).values())))
        return found

    eager = run(lambda f: f)
    with pytest.warns(RuntimeWarning, match=f"its backward changes {what}"):
        assert run(torch.compile) == eager


@pytest.mark.parametrize("others", [True, False])
def test_gradients_that_a_result_retains(others):
    w = torch.ones(2, requires_grad=True)

    def f(x):
        h = x * w
        h.retain_grad()
        return (h, h.sum()) if others else (h, (x * w).sum())

    g = torch.compile(f)
    g(torch.ones(2))
    if others:  # the gradient that arrives from them is one of the program's own
        with pytest.warns(RuntimeWarning, match="retains its gradient"):
            g(torch.ones(2))
    for _ in range(3):
        h, total = g(torch.ones(2))
        (total + h.sum()).backward()
        assert h.retains_grad and h.grad.tolist() == ([2, 2] if others else [1, 1])
    assert others or g.count == 1


@pytest.mark.parametrize("transform", [
    torch.func.vmap, torch.func.grad, lambda f: lambda x: torch.func.jvp(f, (x,), (x,))[1], torch.func.hessian,
], ids=["vmap", "grad", "jvp", "hessian"])
def test_transforms_of_a_compiled_function(transform):
    def f(x):
        return (x**3).sum()

    compiled, x = torch.compile(f), torch.arange(3.0)
    compiled(x), compiled(x)
    for i in range(3):
        assert transform(compiled)(x + i).tolist() == transform(f)(x + i).tolist() and compiled(x) == 9
