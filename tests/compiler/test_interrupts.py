"""An interrupt at any point leaves a training step either completed or not begun; no state is lost."""

import signal

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


class Training:
    def __init__(self, device, compiled, loop):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)
        self.x = torch.linspace(-1, 1, 24).view(2, 4, 3).to(device)
        self.compiled = torch.compile(self.body)
        self.step = self.compiled.loop if loop else lambda x: (self.compiled if compiled else self.body)(x[0])

    def body(self, x):
        self.optimizer.zero_grad()
        F.mse_loss(self.model(x), x.sum(1, keepdim=True)).backward()
        self.optimizer.step()

    def state(self):
        tensors = [*self.model.state_dict().values(), *[p.grad for p in self.model.parameters()]]
        tensors += [v for own in self.optimizer.state.values() for v in own.values()]
        return [t.detach().cpu().clone() for t in tensors]


def interrupting(call, when):
    """`call`, with an interrupt before, or after, its results are there."""

    def interrupted(*args):
        if when == "before":
            signal.raise_signal(signal.SIGINT)
        found = call(*args)
        signal.raise_signal(signal.SIGINT)
        return found

    return interrupted


WAYS = {
    "recorded": ("xla", False, False), "compiled on the cpu": ("cpu", True, False),
    "compiled on a device": ("xla", True, False), "a loop on a device": ("xla", True, True),
    "a loop on the cpu": ("cpu", True, True),
}


def executables_of(compiled):
    """(what holds it, its name) of all that runs a step: what was recorded, or a compiled function."""
    from flambeau.engines.xla.lazy import Graph

    programs = [program for family in Graph.families.families.values() for program in family.programs.values()]
    found = [(program, "executable") for program in programs if program.executable is not None]
    for program in [p for programs in compiled.programs.values() for p in programs]:
        found.append((program.partition.forward, "executable"))
        found += [(program.loop.executables, count) for count in program.loop.executables] if program.loop else []
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_while_a_program_runs_comes_after_the_step(way, when, monkeypatch):
    ours, other = Training(*WAYS[way]), Training(*WAYS[way])
    for training in (ours, other):
        for _ in range(3):
            training.step(training.x)
        training.state()
    with monkeypatch.context() as patch:
        for owner, name in executables_of(ours.compiled):
            if isinstance(owner, dict):
                patch.setitem(owner, name, interrupting(owner[name], when))
            else:
                patch.setattr(owner, name, interrupting(owner.executable, when))
        with pytest.raises(KeyboardInterrupt):
            ours.step(ours.x)
    other.step(other.x)
    for a, b in zip(ours.state(), other.state(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.fixture
def alarms_raise():
    """Alarms raise an error, as timeouts do."""

    def handler(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, handler)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarms_raise")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_while_a_program_is_compiled_leaves_everything_to_be_read(way, number, monkeypatch):
    from flambeau.compiler._segment import Segment
    from flambeau.engines.xla import _programs

    def interrupt(*args):
        signal.raise_signal(number)

    ours = Training(*WAYS[way])
    ours.step(ours.x[:1])
    before = [t.clone() for t in ours.state()]
    with monkeypatch.context() as patch:
        patch.setattr(_programs, "compile_program", interrupt)
        patch.setattr(Segment, "compiled", interrupt)
        with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else TimeoutError):
            ours.step(torch.linspace(-2, 2, 30).view(2, 5, 3).to(ours.x.device))  # a kind of step that is new
    for a, b in zip(ours.state(), before, strict=True):
        assert a.isfinite().all() and a.shape == b.shape
    ours.step(ours.x)


@pytest.mark.usefixtures("alarms_raise")
@pytest.mark.parametrize("rate", [0.5, 1], ids=["floats", "integers"])
def test_a_timeout_while_a_function_is_traced_is_no_error_of_its_own(rate):
    due, begun = [False], [0]

    def function(x):
        begun[0] += 1
        while due[0]:
            pass
        return x * rate

    compiled = torch.compile(function)
    compiled(torch.ones(2))
    due[0] = True
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    with pytest.raises(TimeoutError):
        compiled(torch.ones(2))
    due[0] = False
    assert compiled(torch.ones(2)).tolist() == [rate, rate] and begun == [2]


class Settings:
    rate = 2


@pytest.mark.parametrize("where", ["watched slots", "patches", "restored tensors", "removed patches", "restored values"])
def test_an_interrupt_while_a_trace_begins_or_ends_leaves_nothing_of_it(where, monkeypatch):
    from flambeau.compiler import _notes, _patches, _trace
    from flambeau.compiler._lifted import SLOTS, Lifted
    from flambeau.compiler._watched_slots import WatchedArray

    owner, name = {
        "watched slots": (WatchedArray, "__init__"), "patches": (_patches.Patches, "patch"),
        "restored tensors": (Lifted, "restore"), "removed patches": (_patches.Patches, "remove"),
        "restored values": (_notes.Notes, "restore"),
    }[where]
    own, settings = getattr(owner, name), Settings()
    settings.weights = [torch.ones(2), torch.ones(2)]

    def interrupted(*args):
        signal.raise_signal(signal.SIGINT)
        return own(*args)

    @torch.compile
    def step(x):
        settings.last = settings.rate
        for weight in settings.weights:
            weight.add_(x)
        return settings.weights[0] * settings.rate

    step(torch.ones(2))
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            step(torch.ones(2))
    assert {n: torch.Tensor.__dict__[n] for n in SLOTS} == SLOTS and "__getattr__" not in torch.Tensor.__dict__
    assert not _trace.modes.tracer.active and not _trace._one_at_a_time.locked()
    assert "__getattribute__" not in Settings.__dict__ and "__setattr__" not in Settings.__dict__
    assert [w.tolist() for w in settings.weights] == [[2, 2]] * 2
    assert step(torch.ones(2)).tolist() == [6, 6] and step(torch.ones(2)).tolist() == [8, 8]
