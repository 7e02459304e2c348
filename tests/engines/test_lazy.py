"""Lazy evaluation on a device: the results of the CPU, few programs, and nothing stale."""

import copy
import gc
import operator
import subprocess
import sys

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax

F = nn.functional


@pytest.fixture
def lazy():
    from flambeau.engines.xla import lazy

    lazy.synchronize()
    return lazy


class Count:
    """Programs that were compiled, and run, inside."""

    def __init__(self, lazy):
        self.statistics = lazy.Statistics

    def __enter__(self):
        self.before = self.statistics.compilations, self.statistics.runs
        return self

    def __exit__(self, *exc):
        self.compilations = self.statistics.compilations - self.before[0]
        self.runs = self.statistics.runs - self.before[1]


def draws(*shapes, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(*shape) for shape in shapes]


def assert_alike(got, want, rtol=2e-5, atol=1e-5):
    assert got.shape == want.shape and got.dtype is want.dtype
    np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=rtol, atol=atol)


# ---- what a program does


def test_nothing_is_computed_until_elements_are_needed(lazy):
    x, = draws((3, 4))
    x = x.to("xla")
    with Count(lazy) as recorded:
        y = (x * 2 + 1).relu().sum(1)
        assert y.shape == (3,) and y.dtype is torch.float32 and y.device == x.device
    assert recorded.runs == 0
    with Count(lazy) as read:
        y.tolist()
        y.tolist()
    assert read.runs == 1


@pytest.mark.parametrize("differentiate", [
    lambda x, weight, loss: torch.autograd.grad(loss, [x, weight]),
    lambda x, weight, loss: loss.backward(),
    lambda x, weight, loss: (x.register_hook(lambda g: g * 2), loss.backward()),
], ids=["grad", "backward", "hooks"])
def test_recording_a_step_needs_no_elements(lazy, differentiate):
    x, weight = (torch.randn(*shape, device="xla", requires_grad=True) for shape in ((2, 3, 4), (5, 4)))
    bias = torch.randn(5, device="xla")
    x.sum().item()
    with Count(lazy) as recorded:
        differentiate(x, weight, (torch.nn.functional.linear(x * 2, weight, bias).flip(0) * x.sum()).sum())
    assert recorded.runs == 0


def test_a_structure_is_compiled_again_for_other_settings_of_jax(lazy):
    import jax

    def f(x):
        return [(x * n).sum().item() for n in (0.5, 1.5, 2.5)]  # which are inputs of programs in the end

    x = torch.ones(2, device="xla")
    assert f(x) == [1, 3, 5]
    with Count(lazy) as others:
        with jax.enable_x64(False):
            assert f(x) == [1, 3, 5]
        with jax.default_matmul_precision("highest"):
            assert f(x) == [1, 3, 5]
    assert others.compilations == 4
    with Count(lazy) as again:
        assert f(x) == [1, 3, 5]
    assert again.compilations == 0


def test_interrupted_calls_are_still_recorded(lazy, monkeypatch):
    from flambeau.engines.xla import _programs

    def interrupt(*args):
        raise KeyboardInterrupt

    x = torch.arange(3.0, device="xla") * 3
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_programs, "compile_program", interrupt)
        x.erfc().tolist()
    other = torch.ones(3, device="xla") * 2
    assert (x + other).tolist() == [2, 5, 8]
    assert (x.tolist(), other.tolist()) == ([0, 3, 6], [2, 2, 2])


def test_what_an_error_has_stopped_cannot_be_read(lazy, monkeypatch):
    from flambeau.engines.xla import _programs

    def fail(*args):
        raise MemoryError("no room")

    x = torch.arange(3.0, device="xla") * 3
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(_programs, "compile_program", fail)
        x.erfc().tolist()
    other = torch.ones(3, device="xla") * 2  # in the place that x had
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no room"):
            (x + other).tolist()
    assert other.tolist() == [2, 2, 2]


def test_the_same_structure_is_compiled_once(lazy):
    def f(x):
        return (x.exp() * 3).mean().item()

    x, = draws((5, 2))
    x = x.to("xla")
    f(x)
    with Count(lazy) as again:
        for _ in range(3):
            x = x + 1
            f(x)
    with Count(lazy) as later:
        for _ in range(3):
            x = x + 1
            f(x)
    assert again.compilations <= 1 and later.compilations == 0 and later.runs == 3


def test_layers_of_one_kind_are_traced_once(lazy, monkeypatch):
    from flambeau.engines.xla._calls import Signature

    traced, call = [], Signature.call

    def note(self, *args):
        traced.append(self)
        return call(self, *args)

    monkeypatch.setattr(Signature, "call", note)
    model = nn.Sequential(*[nn.Linear(7, 7) for _ in range(6)]).to("xla")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 7, device="xla")).square().mean().backward()
    optimizer.step()
    assert traced and len(traced) == len(set(traced))


def test_many_gradients_are_clipped_by_a_few_calls(lazy):
    parameters = [nn.Parameter(torch.ones(3, i + 1).to("xla")) for i in range(20)]
    for p in parameters:
        p.grad = p.detach() * 2
    lazy.synchronize()
    graph = parameters[0]._a.graph
    total = nn.utils.clip_grad_norm_(parameters, 1.0)
    assert len(graph.calls) < 10
    assert total.item() == pytest.approx(630**0.5 * 2) and parameters[3].grad.mean().item() == pytest.approx(630**-0.5)


GRADIENTS = {  # of two parameters, by a vector of 6
    "the same twice": lambda flat: [flat, flat],
    "in one memory": lambda flat: [flat[:2], flat[2:]],
    "overlapping": lambda flat: [flat[:4], flat[2:]],
}


@pytest.mark.parametrize("take", GRADIENTS.values(), ids=GRADIENTS)
def test_gradients_that_share_memory_are_clipped_as_on_the_cpu(take):
    found = []
    for device in ("cpu", "xla"):
        flat = torch.arange(1.0, 7.0, device=device)
        parameters = []
        for grad in take(flat):
            parameters.append(nn.Parameter(torch.zeros_like(grad)))
            parameters[-1].grad = grad
        total = nn.utils.clip_grad_norm_(parameters, 1.0)
        found.append([total.item(), *flat.tolist()])
    assert found[1] == pytest.approx(found[0])


def test_statistics_and_gradients_take_one_call_each(lazy):
    model = nn.BatchNorm1d(4).to("xla")
    x = torch.ones(3, 4).to("xla", torch.bfloat16).requires_grad_()
    lazy.synchronize()
    graph = x._a.graph
    out = model(x)
    assert len(graph.calls) == 4  # the layer, its two statistics and its count
    out.sum().backward()
    assert len(graph.calls) == 8  # the sum, the gradient to begin with, two vjps


def test_positions_are_copied_to_the_device_once():
    first = torch.arange(5, device="xla")
    second = torch.arange(5, device="xla")
    assert first._a is second._a
    second += 1
    assert first.tolist() == torch.arange(5, device="xla").tolist() == [0, 1, 2, 3, 4] and second.tolist()[0] == 1


def test_unreferenced_results_are_not_computed(lazy):
    x, = draws((3,))
    x = x.to("xla")
    with Count(lazy) as count:
        y = x + 1
        del y
        lazy.synchronize()
    assert count.runs == 0


def test_programs_capture_no_zeros(lazy):
    import jax

    logits = torch.randn(64, 100).to("xla").requires_grad_()
    target = torch.randint(100, (64,)).to("xla")
    limit = jax.config.jax_captured_constants_warn_bytes
    jax.config.update("jax_captured_constants_warn_bytes", 1)
    try:
        F.cross_entropy(logits, target).backward()
        logits.grad.tolist()
    finally:
        jax.config.update("jax_captured_constants_warn_bytes", limit)


def test_numbers_that_change_become_inputs(lazy):
    x = torch.ones(3, device="xla")
    with Count(lazy) as count:
        got = [(x * (0.5 + i)).sum().item() for i in range(8)]
    assert got == [3 * (0.5 + i) for i in range(8)] and count.compilations <= 2


def test_zeros_of_either_sign_are_told_apart():
    x = torch.ones(1, device="xla")
    assert [(x / (x * zero)).item() for zero in (0.0, -0.0, 0.0)] == [np.inf, -np.inf, np.inf]


def test_a_long_record_runs_by_itself(lazy, monkeypatch):
    monkeypatch.setattr(lazy, "LONGEST", 50)
    x = torch.zeros(2, device="xla")
    with Count(lazy) as count:
        for _ in range(60):
            x = x + 1
    assert count.runs == 1 and x.tolist() == [60, 60]


def test_eager_runs_one_by_one(lazy):
    x = torch.ones(2, device="xla")
    with Count(lazy) as count, torch.eager():
        y = x * 2
        y = y + 1
    assert count.runs == 2 and y.tolist() == [3, 3]
    with torch.eager(), pytest.raises(IndexError, match="out of bounds"):
        x[torch.tensor([7])]


def test_arrays_of_the_host_are_read_when_they_are_used():
    x, factor = torch.ones(2, device="xla"), torch.tensor(3.0)
    y = x * factor
    factor.zero_()
    table = np.array([4.0, 5.0], np.float32)
    z = torch.from_numpy(table).to("xla")
    table[:] = 0
    assert y.tolist() == [3, 3] and z.tolist() == [4, 5]


def test_memory_of_what_is_written_is_used_again(lazy):
    p = torch.zeros(4096, device="xla")
    for _ in range(3):
        before = (p.add_(1)._a.value).unsafe_buffer_pointer()
    assert p.add_(1)._a.value.unsafe_buffer_pointer() == before


@pytest.mark.parametrize("hold", [lambda p: p.clone(), lambda p: p.detach() * 1, lambda p: p.data.view(2, 2).clone(),
                                  lambda p: p.exp().log()])
def test_referenced_memory_is_not_donated(lazy, hold):
    p = torch.ones(4, device="xla")
    p.add_(1).tolist()
    copies = [hold(p)]
    for _ in range(3):
        p.add_(1)
        copies.append(hold(p))
        lazy.run_all()
    for i, held in enumerate(copies):
        np.testing.assert_allclose(held.flatten().cpu().numpy(), [2 + i] * 4, rtol=1e-6)


def test_dropout_is_drawn_on_the_device(lazy):
    x = torch.ones(400, 500, device="xla")
    torch.manual_seed(3)
    a, b = F.dropout(x, 0.3), F.dropout(x, 0.3)
    assert abs((a == 0).float().mean().item() - 0.3) < 0.01
    assert set(a.unique().tolist()) == {0.0, float(np.float32(1 / 0.7))}
    assert abs((a == b).float().mean().item() - 0.58) < 0.02
    torch.manual_seed(3)
    assert torch.equal(a, F.dropout(x, 0.3))
    channels = F.dropout2d(torch.ones(50, 40, 3, 3, device="xla"), 0.5)
    assert torch.equal(channels, channels[:, :, :1, :1].expand_as(channels))
    with Count(lazy) as count:
        for _ in range(3):
            F.dropout(x, 0.3).sum().item()
    assert count.compilations <= 1


def test_dropout_is_the_same_when_it_is_recomputed():
    from flambeau.utils.checkpoint import checkpoint

    x = torch.ones(200, device="xla", requires_grad=True)
    y = checkpoint(lambda t: F.dropout(t * 2, 0.5), x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


# ---- conditions on elements


def out_of_bounds(x):
    return x[torch.tensor([5], device="xla")]


def test_an_error_names_the_line_that_recorded_it():
    x = torch.ones(3, device="xla")
    y = out_of_bounds(x)
    with pytest.raises(IndexError, match="out of bounds") as caught:
        (y + 1).tolist()
    note, = caught.value.__notes__
    assert f"{__file__}, line {out_of_bounds.__code__.co_firstlineno + 1}" in note


def test_an_error_is_not_missed_where_the_result_is_not_used(lazy):
    out_of_bounds(torch.ones(3, device="xla"))
    gc.collect()
    with pytest.raises(IndexError, match="out of bounds"):
        lazy.synchronize()


def test_results_of_a_failed_program_cannot_be_read():
    x, p = torch.ones(3, device="xla"), torch.zeros(3, device="xla")
    p += out_of_bounds(x)
    with pytest.raises(IndexError):
        p.tolist()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"cannot be read.*out of bounds"):
            (p * 2).tolist()
    assert x.tolist() == [1, 1, 1]


READERS = {
    "nonzero": torch.nonzero,
    "unique": torch.unique,
    "a mask": lambda x: x[x > 5],
    "masked_select": lambda x: torch.masked_select(x, x > 0),
    "dlpack": np.from_dlpack,
    "NumPy": np.asarray,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_deferred_errors_are_raised_before_elements_are_used(read):
    with pytest.raises(IndexError, match="out of bounds"):
        read(out_of_bounds(torch.ones(3, device="xla")))


OVERWRITERS = {
    "fill_": lambda x: x.fill_(1.0),
    "copy_": lambda x: x.copy_(torch.ones(3)),
    "copy_ of another dtype": lambda x: x.copy_(torch.ones(3, dtype=torch.float64)),
    "copy_ of one element": lambda x: x.copy_(torch.ones(1)),
    "[:]": lambda x: operator.setitem(x, slice(None), 1.0) or x,
    "[...]": lambda x: operator.setitem(x, ..., torch.ones(1)) or x,
}


@pytest.mark.parametrize("overwrite", OVERWRITERS.values(), ids=OVERWRITERS)
def test_results_lost_to_an_error_can_be_overwritten(overwrite):
    p = torch.zeros(3, device="xla")
    p += out_of_bounds(torch.ones(3, device="xla"))
    with pytest.raises(IndexError):
        p.tolist()
    assert overwrite(p).tolist() == [1, 1, 1]


def test_an_error_is_shown_at_the_end_of_a_process():
    code = "import flambeau as torch; torch.ones(3, device='xla')[torch.tensor([5], device='xla')]"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "IndexError: index 5 is out of bounds" in found.stderr


# ---- agreement with the CPU


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g


LAYERS = {
    "linear": (lambda: nn.Linear(6, 5), (4, 6)),
    "conv": (lambda: nn.Conv2d(3, 4, 3, padding=1), (2, 3, 6, 6)),
    "batch_norm": (lambda: nn.BatchNorm2d(3), (4, 3, 5, 5)),
    "layer_norm": (lambda: nn.LayerNorm(6), (4, 6)),
    "lstm": (lambda: nn.LSTM(6, 4, batch_first=True), (2, 5, 6)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 5, 8)),
    "pool": (lambda: nn.Sequential(nn.MaxPool2d(2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 3, 6, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, shape = LAYERS[name]
    x, = draws(shape)
    torch.manual_seed(1)
    plain = make()
    moved = copy.deepcopy(plain).to("xla")
    results = []
    for module, device in ((plain, "cpu"), (moved, "xla")):
        leaf = x.clone().to(device).requires_grad_()
        for _ in range(2):
            out = module(leaf)
            out = out[0] if isinstance(out, tuple) else out
            out.square().sum().backward()
        module.eval()
        evaluated = module(leaf)
        evaluated = evaluated[0] if isinstance(evaluated, tuple) else evaluated
        results.append([out, evaluated, leaf.grad, *[p.grad for p in module.parameters()], *module.buffers()])
    for want, got in zip(*results, strict=True):
        assert_alike(got, want, rtol=1e-4, atol=1e-4)


LOSSES = {
    "cross_entropy": lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1),
    "nll": lambda x, y: F.nll_loss(x.log_softmax(1), y),
    "mse": lambda x, y: F.mse_loss(x, x.detach().flip(0)),
    "smooth_l1": lambda x, y: F.smooth_l1_loss(x, x.detach().flip(0)),
    "bce": lambda x, y: F.binary_cross_entropy_with_logits(x, (x.detach() > 0).float()),
    "margin": lambda x, y: F.multi_margin_loss(x, y),
    "triplet": lambda x, y: F.triplet_margin_loss(x, x.flip(0), x.roll(1, 0)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    x, = draws((6, 5))
    y = torch.arange(6) % 5
    results = []
    for device in ("cpu", "xla"):
        leaf = x.clone().to(device).requires_grad_()
        loss = LOSSES[name](leaf, y.to(device))
        loss.backward()
        results.append((loss, leaf.grad))
    for want, got in zip(*results, strict=True):
        assert_alike(got, want)


OPTIMIZERS = {
    "SGD": dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01), "Adam": dict(lr=0.01, amsgrad=True),
    "AdamW": dict(lr=0.01), "RMSprop": dict(lr=0.01, momentum=0.5, centered=True), "Adagrad": dict(lr=0.1),
    "Adadelta": dict(lr=1.0), "Adamax": dict(lr=0.01), "NAdam": dict(lr=0.01), "RAdam": dict(lr=0.01),
    "Rprop": dict(lr=0.01), "ASGD": dict(lr=0.1),
}


def train(optimizer, settings, device, steps=20):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).to(device)
    optimizer = getattr(torch.optim, optimizer)(model.parameters(), **settings)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
    losses = []
    for i in range(steps):
        x, = draws((8, 4), seed=i)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)), (torch.arange(8) % 3).to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.detach())
    return torch.stack(losses), *model.parameters()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers_over_twenty_steps(lazy, optimizer):
    want = train(optimizer, OPTIMIZERS[optimizer], "cpu")
    with Count(lazy) as first:
        got = train(optimizer, OPTIMIZERS[optimizer], "xla")
    for a, b in zip(got, want, strict=True):
        assert_alike(a, b, rtol=2e-3, atol=2e-4)
    with Count(lazy) as second:
        train(optimizer, OPTIMIZERS[optimizer], "xla")
    assert first.compilations <= 8 and second.compilations == 0


def test_steps_of_a_schedule_compile_nothing(lazy):
    train("AdamW", {"lr": 0.01}, "xla", steps=4)
    with Count(lazy) as count:
        train("AdamW", {"lr": 0.02}, "xla", steps=20)
    assert count.compilations <= 2


def hooks(x):
    seen = []
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad * 1))
    y.square().sum().backward()
    return [x.grad, y.grad, *seen]


def double_backward(x):
    slope, = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    slope.square().sum().backward()
    return [slope, x.grad]


def custom_function(x):
    Twice.apply(x).sum().backward()
    return [x.grad]


def accumulation(x):
    for i in range(3):
        (x * i).sin().sum().backward()
    return [x.grad]


def views(x):
    y = x * 1
    y[1:] += 2
    y.t()[0].mul_(3)
    y.view(-1)[::2] = 0
    y.sum().backward()
    return [y, x.grad]


def branches(x):
    while x.abs().sum() > 1:
        x = x / 2
    return [x]


def selection(x):
    return [x[x > 0], x.nonzero(), torch.unique(x.round()), x.masked_fill(x > 0, 1.0)]


def checkpointed(x):
    from flambeau.utils.checkpoint import checkpoint

    checkpoint(lambda t: t.exp().sum(), x, use_reentrant=False).backward()
    return [x.grad]


def per_sample(x):
    return [torch.func.vmap(torch.func.grad(lambda row: (row**3).sum()))(x)]


def in_precision(dtype, x):
    x = x.detach().to(dtype).requires_grad_()
    y = F.layer_norm(F.gelu(x @ x.t()), (3,))
    z = F.scaled_dot_product_attention(y, y, y) * 0.5 + y.exp()
    z.float().square().sum().backward()
    return [z.float(), x.grad.float()]


def test_half_precision():
    x, = draws((3, 4))
    x = x.bfloat16()
    exact, cpu = in_precision(torch.float64, x), in_precision(torch.bfloat16, x)
    for want, other, got in zip(exact, cpu, in_precision(torch.bfloat16, x.to("xla")), strict=True):
        got = got.cpu()
        assert torch.equal(got.bfloat16().float(), got)  # it was rounded
        assert (got - want).abs().max() <= 2 * (other - want).abs().max() + 0.01 * want.abs().max()


@pytest.mark.parametrize("run", [hooks, double_backward, custom_function, accumulation, views, branches, selection,
                                 checkpointed, per_sample])
def test_programs(run):
    x, = draws((3, 4))
    want = run(x.clone().requires_grad_())
    got = run(x.clone().to("xla").requires_grad_())
    for a, b in zip(got, want, strict=True):
        assert_alike(a, b)


def test_a_device_without_memory_raises_what_pytorch_raises(lazy):
    x = torch.ones(1, device="xla").expand(1 << 46) + 1
    for error in (torch.cuda.OutOfMemoryError, RuntimeError):  # the second reader gets an error too
        with pytest.raises(error, match=r"(?i)out of memory") as caught:
            x.tolist()
    assert isinstance(caught.value.__cause__, torch.cuda.OutOfMemoryError)
    assert (torch.ones(3, device="xla") * 2).tolist() == [2, 2, 2]


@pytest.mark.parametrize("fails", [True, False])
def test_an_array_whose_program_fails_late_raises_that_error(lazy, fails):
    """As on accelerators, where a program reports its failure to the reader, who may fail for another reason first."""
    import jax

    with pytest.raises(jax.errors.JaxRuntimeError) as no_memory:
        jax.numpy.ones(1 << 46).block_until_ready()

    class Late:
        def __array__(self, dtype=None, copy=None):
            raise MemoryError("the host has no memory for a copy")

        def block_until_ready(self):
            if fails:
                raise no_memory.value

    x = torch.ones(3, device="xla") * 2
    x.tolist()
    there, x._a._value = x._a._value, Late()
    with pytest.raises(torch.cuda.OutOfMemoryError if fails else MemoryError):
        x.tolist()
    if fails:
        with pytest.raises(RuntimeError, match="cannot be read"):
            x.tolist()
    else:  # nothing is lost
        x._a._value = there
        assert x.tolist() == [2, 2, 2]
