"""utils.checkpoint, compared with PyTorch: values, gradients, recomputation, random numbers, errors."""

import contextlib
import gc
import importlib
import weakref

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau import nn
from flambeau.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

programs = Programs("utils_checkpoint.json")
BOTH = (True, False)


def library(t):
    return importlib.import_module(f"{t.__name__}.utils.checkpoint")


def double_sine(x):
    return (x * 2).sin()


def leaf(t, *values):
    return t.tensor(values or [1.0, 2.0], requires_grad=True)


class Changing:
    """A function that does something else at its second call."""

    def __init__(self, *functions):
        self.functions = list(functions)

    def __call__(self, x):
        return self.functions.pop(0)(x)


@programs
def values_and_gradients(t):
    def one(reentrant):
        x = leaf(t)
        y = library(t).checkpoint(double_sine, x, use_reentrant=reentrant)
        y.sum().backward()
        return [y, x.grad, y.grad_fn.name()]

    return [one(reentrant) for reentrant in BOTH]


@programs
def a_network(t):
    def one(run):
        t.manual_seed(0)
        m = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Dropout(0.5), t.nn.BatchNorm1d(4), t.nn.Tanh(), t.nn.Linear(4, 2))
        x = t.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
        y = run(m, x)
        between = t.rand(2)
        (y * t.arange(8.0).reshape(4, 2)).sum().backward()
        return [y, between, t.rand(2), x.grad, [p.grad for p in m.parameters()], [b for n, b in m.named_buffers()]]

    c = library(t)
    return [one(lambda m, x: m(x)), one(lambda m, x: c.checkpoint(m, x, use_reentrant=True)), one(lambda m, x: c.checkpoint(m, x, use_reentrant=False)),
            one(lambda m, x: c.checkpoint_sequential(m, 2, x, use_reentrant=True)), one(lambda m, x: c.checkpoint_sequential(list(m), 2, x, use_reentrant=False))]


@programs
def arguments(t):
    c, x = library(t), leaf(t)

    def several(x, y, *, scale):
        return x * scale, [y, x], None, 5, (x + y).sum()

    y = leaf(t, 3.0, 4.0)
    out = c.checkpoint(several, x, y, scale=3, use_reentrant=False)
    (out[0].sum() + out[4]).backward()
    reentrant = c.checkpoint(lambda x, n: (x * n, n, None), x, 3, use_reentrant=True)
    return [out, x.grad, y.grad, reentrant]


@programs
def warnings_and_refusals(t):
    c, x = library(t), leaf(t)
    contexts = lambda: (contextlib.nullcontext(), contextlib.nullcontext())  # noqa: E731
    m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 2))
    return [warned(lambda: c.checkpoint(double_sine, x)), warned(lambda: c.checkpoint(double_sine, t.ones(2), use_reentrant=True)),
            warned(lambda: c.checkpoint(double_sine, t.ones(2), use_reentrant=False)), raised(lambda: c.checkpoint(double_sine, x=x, use_reentrant=True)),
            raised(lambda: c.checkpoint(double_sine, x, use_reentrant=True, context_fn=contexts)), raised(lambda: c.checkpoint(double_sine, x, use_reentrant=True, debug=True)),
            raised(lambda: c.checkpoint(double_sine, x, use_reentrant=False, determinism_check="strict")), warned(lambda: c.checkpoint_sequential(m, 1, x)),
            raised(lambda: c.checkpoint_sequential(m, 1, x, use_reentrant=False, scale=1)), raised(lambda: c.checkpoint_sequential(m, 3, x, use_reentrant=False)),
            raised(lambda: c.checkpoint(lambda x: x.detach(), x, use_reentrant=True).sum().backward()), raised(lambda: c.checkpoint(lambda x: 1 / 0, x, use_reentrant=False)),
            raised(lambda: c.detach_variable([x])), c.detach_variable((x, 5))[0].requires_grad]


@programs
def ways_of_backward(t):
    c, x = library(t), leaf(t)

    def made(reentrant):
        return c.checkpoint(double_sine, x, use_reentrant=reentrant).sum()

    y = made(False)
    y.backward(retain_graph=True)
    y.backward()
    slope, = t.autograd.grad(made(False), x, create_graph=True)
    with t.no_grad():
        quiet = [c.checkpoint(double_sine, x, use_reentrant=reentrant).requires_grad for reentrant in BOTH]
    return [x.grad, t.autograd.grad(made(False), x), t.autograd.grad(slope.sum(), x), raised(y.backward), raised(lambda: t.autograd.grad(made(True), x)),
            raised(lambda: made(True).backward(inputs=[x])), quiet]


@programs
def what_is_called_again(t):
    c, calls = library(t), []

    def counted(x):
        calls.append(1)
        x = x.sin()
        calls.append(2)
        x = x.cos()
        calls.append(3)
        return x + 1

    def run(function, **kwargs):
        x = leaf(t)
        calls.clear()
        c.checkpoint(function, x, **kwargs).sum().backward()
        return [list(calls), x.grad]

    def nested(reentrant):
        return lambda x: c.checkpoint(counted, x.sin(), use_reentrant=reentrant).cos()

    with c.set_checkpoint_early_stop(False):
        to_the_end = run(counted, use_reentrant=False)
    return [run(counted, use_reentrant=True), run(counted, use_reentrant=False), run(counted, use_reentrant=False, early_stop=False), to_the_end,
            run(nested(False), use_reentrant=False), run(nested(True), use_reentrant=False)]


@programs
def functions_that_change(t):
    c = library(t)

    def run(*functions, **kwargs):
        return raised(lambda: c.checkpoint(Changing(*functions), leaf(t), use_reentrant=False, **kwargs).sum().backward())

    short, long, narrow = (lambda x: x.sin()), (lambda x: x.sin().cos()), (lambda x: x[:1].sin())
    return [run(long, short), run(short, long), run(short, long, early_stop=False), run(short, narrow), run(short, narrow, debug=True)]


@programs
def random_numbers(t):
    def one(reentrant, preserve):
        t.manual_seed(0)
        x = t.ones(20, requires_grad=True)
        y = library(t).checkpoint(lambda v: t.nn.functional.dropout(v, 0.5), x, use_reentrant=reentrant, preserve_rng_state=preserve)
        t.rand(3)
        y.sum().backward()
        return [y, t.equal(x.grad, y), t.rand(1)]

    return [one(reentrant, preserve) for reentrant in BOTH for preserve in BOTH]


@programs
def writes_to_inputs(t):
    c = library(t)

    def write_after(reentrant):
        x = leaf(t) * 1
        y = c.checkpoint(double_sine, x, use_reentrant=reentrant)
        x.mul_(3)
        y.sum().backward()

    return [raised(lambda: write_after(True)), raised(lambda: write_after(False))]


@programs
def contexts(t):
    seen = []

    @contextlib.contextmanager
    def named(name):
        seen.append(name)
        yield
        seen.append(f"end of {name}")

    x = leaf(t)
    y = library(t).checkpoint(double_sine, x, use_reentrant=False, early_stop=False, context_fn=lambda: (named("forward"), named("recomputation")))
    seen.append("backward")
    y.sum().backward()
    return seen


@programs
def under_autocast(t):
    seen = []

    def product(x):
        out = x @ x
        seen.append([str(out.dtype), t.is_autocast_enabled("cpu")])
        return out.sin()

    for reentrant in BOTH:
        x = t.eye(2, requires_grad=True)
        with t.autocast("cpu"):
            y = library(t).checkpoint(product, x, use_reentrant=reentrant)
        y.float().sum().backward()
        seen.append(t.is_autocast_enabled("cpu"))
    return seen


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


def test_what_is_saved_is_freed_between(no_cycle_collector):
    """After the forward only the input is there; in backward, what was computed again goes with its node."""
    alive = weakref.WeakSet()

    def layers(x):
        for _ in range(6):
            x = x.sin()
            alive.add(x)
        return x

    x = leaf(flambeau)
    y = checkpoint(layers, x, use_reentrant=False)
    assert len(alive) == 1  # the output
    y.sum().backward()
    del y
    assert len(alive) == 0


def test_saved_tensors_can_be_looked_at():
    x = leaf(flambeau)
    y = checkpoint(lambda x: x.exp(), x, use_reentrant=False)
    saved = []
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        z = checkpoint(lambda x: x.exp().exp(), x, use_reentrant=False)
    assert len(saved) == 1  # the input: an outer hook does not see what the checkpoint drops
    (y.sum() + z.sum()).backward()
    assert flambeau.allclose(x.grad, x.exp() + x.exp() * x.exp().exp())


@pytest.mark.parametrize(("functions", "message"), [
    ([lambda x: x.sin().cos(), lambda x: x.sin()], "saved during forward: 2\nNumber of tensors saved during recomputation: 1"),
    ([lambda x: x.sin(), lambda x: x[:1].sin()], "different metadata than during the forward pass"),
])
def test_messages(functions, message):
    with pytest.raises(CheckpointError, match=message):
        checkpoint(Changing(*functions), leaf(flambeau), use_reentrant=False).sum().backward()


def test_details():
    with flambeau.utils.checkpoint.set_checkpoint_debug_enabled(True), pytest.raises(CheckpointError, match="Saved in the recomputation:\n  0: "):
        checkpoint(Changing(lambda x: x.sin().cos(), lambda x: x.sin()), leaf(flambeau), use_reentrant=False).sum().backward()


def test_the_graph_keeps_no_cycle(no_cycle_collector):
    x = leaf(flambeau)
    y = checkpoint(double_sine, x, use_reentrant=False)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None
    assert gc.collect() >= 0


@pytest.mark.jax
@pytest.mark.parametrize("reentrant", BOTH)
def test_dropout_inside_a_compiled_step(reentrant):
    x = flambeau.ones(50, requires_grad=True)

    def step():
        y = checkpoint(nn.functional.dropout, x, use_reentrant=reentrant)
        y.sum().backward()
        return y

    step()
    compiled = flambeau.compile(step)
    for _ in range(3):
        x.grad = None
        assert flambeau.equal(compiled(), x.grad)


@pytest.mark.jax
def test_inside_a_compiled_step():
    m, x = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)), flambeau.ones(2, 3)

    def step():
        y = checkpoint_sequential(m, 2, x, use_reentrant=False)
        y.sum().backward()
        return y

    want = step()
    grads = [p.grad.clone() for p in m.parameters()]
    m.zero_grad()
    compiled = flambeau.compile(step)
    for _ in range(3):
        flambeau.testing.assert_close(compiled(), want)
        for p, grad in zip(m.parameters(), grads, strict=True):
            flambeau.testing.assert_close(p.grad, grad)
        m.zero_grad()
