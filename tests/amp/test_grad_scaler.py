"""GradScaler as PyTorch's, on the CPU: scales, skipped steps, growth, states, errors."""

import copy
import pickle

import pytest

import flambeau
from _programs import Programs, raised
from flambeau.amp import GradScaler

programs = Programs("amp_grad_scaler.json")
INF, NAN = float("inf"), float("nan")


def setup(t, value=1.0, **kwargs):
    p = t.nn.Parameter(t.tensor([value, value]))
    return p, t.optim.SGD([p], lr=0.5), t.amp.GradScaler("cpu", **kwargs)


def look(scaler, p):
    return [scaler.get_scale(), scaler._get_growth_tracker(), p.detach().clone(), p.grad if p.grad is None else p.grad.clone()]


@programs
def steps(t):
    p, optimizer, scaler = setup(t, init_scale=8.0, growth_interval=2)
    seen = []
    for factor in (1.0, INF, 2.0, 1.0, NAN, 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        seen.append(p.grad.clone())
        result = scaler.step(optimizer)
        scaler.update()
        seen.append([result, look(scaler, p)])
    return seen


@programs
def clipping(t):
    p, optimizer, scaler = setup(t, init_scale=16.0)
    scaler.scale((p * 3).sum()).backward()
    scaler.unscale_(optimizer)
    norm = t.nn.utils.clip_grad_norm_([p], 1.0)
    scaler.step(optimizer)
    scaler.update()
    return [norm, look(scaler, p)]


@programs
def nests_of_outputs(t):
    scaler = t.amp.GradScaler("cpu", init_scale=4.0)
    x = t.ones(2)
    scaled = scaler.scale([x, (x, [x])])
    return [scaled, type(scaled[1]).__name__, list(scaler.scale(iter([x]))), scaler.scale(x.half()), raised(lambda: scaler.scale(5))]


@programs
def disabled(t):
    p, optimizer, scaler = setup(t, enabled=False)
    loss = scaler.scale(p.sum())
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return [loss, p.detach(), scaler.is_enabled(), scaler.get_scale(), scaler.state_dict(), scaler.load_state_dict({})]


@programs
def two_optimizers(t):
    p, optimizer, scaler = setup(t, init_scale=4.0)
    q = t.nn.Parameter(t.ones(1))
    other = t.optim.SGD([q], lr=1.0)
    scaler.scale(p.sum() + (q * INF).sum()).backward()
    scaler.step(optimizer)
    scaler.step(other)
    scaler.update()
    return [look(scaler, p), q.detach(), scaler.get_scale()]


@programs
def states(t):
    p, optimizer, scaler = setup(t, init_scale=4.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=5)
    first = scaler.state_dict()
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    saved = scaler.state_dict()
    other = t.amp.GradScaler("cpu")
    other.load_state_dict(saved)
    used = t.amp.GradScaler("cpu")
    used.scale(t.ones(1))
    used.load_state_dict(saved)
    scaler.set_growth_factor(5.0)
    scaler.set_backoff_factor(0.1)
    scaler.set_growth_interval(7)
    return [first, saved, other.state_dict(), used.state_dict(), scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval(),
            raised(lambda: other.load_state_dict({}))]


@programs
def new_scales(t):
    p, _, scaler = setup(t)
    scaler.scale(p.sum())
    scaler.update(32.0)
    first = scaler.get_scale()
    scaler.update(t.tensor(64.0))
    return [first, scaler.get_scale(), raised(lambda: scaler.update(t.tensor([1.0, 2.0]))), raised(lambda: scaler.update(t.tensor(1.0, requires_grad=True)))]


@programs
def wrong_order(t):
    p, optimizer, scaler = setup(t)
    first = [raised(lambda: scaler.step(optimizer)), raised(lambda: scaler.unscale_(optimizer)), raised(scaler.update)]
    scaler.scale(p.sum())
    first += [raised(lambda: scaler.step(optimizer)), raised(scaler.update)]
    _, _, scaler = setup(t)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    second = [raised(lambda: scaler.unscale_(optimizer)), raised(lambda: scaler.step(optimizer, closure=lambda: None))]
    scaler.step(optimizer)
    return [first, second, raised(lambda: scaler.step(optimizer)), raised(lambda: scaler.unscale_(optimizer))]


@programs
def refusals(t):
    half = t.nn.Parameter(t.ones(2).half())
    optimizer, scaler = t.optim.SGD([half], lr=1.0), t.amp.GradScaler("cpu")
    scaler.scale(half.sum()).backward()
    return [raised(lambda: t.amp.GradScaler("cpu", growth_factor=1.0)), raised(lambda: t.amp.GradScaler("cpu", backoff_factor=1.0)), raised(lambda: scaler.step(optimizer))]


@programs
def sparse_and_empty_gradients(t):
    seen = []
    for factor in (1.0, INF):
        rows, nothing = t.nn.Parameter(t.ones(3, 2)), t.nn.Parameter(t.ones(0))
        optimizer, scaler = t.optim.SGD([rows, nothing], lr=0.5), t.amp.GradScaler("cpu", init_scale=8.0)
        found = t.nn.functional.embedding(t.tensor([1, 1]), rows, sparse=True)
        scaler.scale(found.sum() * factor + nothing.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append([scaler.get_scale(), rows.detach().clone()])
    return seen


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))], ids=["deepcopy", "pickle"])
def test_copies(copied):
    p, optimizer, scaler = setup(flambeau, init_scale=8.0)
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning"):
        copied(scaler)
    scaler.update()
    assert copied(scaler).state_dict() == scaler.state_dict()


def test_without_a_gpu():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not GradScaler().is_enabled()


def train(optimizer, settings, wrap, infinite, clips=False, prepare=lambda optimizer: []):
    """Twenty steps, some with gradients that are not finite; all that there is after each.

    ``prepare(optimizer)`` returns more tensors to look at.
    """
    flambeau.manual_seed(0)
    nn = flambeau.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = getattr(flambeau.optim, optimizer)(model.parameters(), lr=0.01, **settings)
    scaler, others = GradScaler("cpu", init_scale=1024.0, growth_interval=3), prepare(optimizer)

    def step(x, factor):
        optimizer.zero_grad()
        loss = (model(x) * factor).square().mean()
        scaler.scale(loss).backward()
        if clips:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    step, x, seen = wrap(step), flambeau.randn(16, 4), []
    for nr in range(20):
        loss = step(x, flambeau.tensor(INF if nr in infinite else 1.0 + 0.01 * nr))
        state = [v for s in optimizer.state.values() for v in s.values() if isinstance(v, flambeau.Tensor)]
        tensors = [loss, *model.parameters(), *state, *others]
        seen += [scaler.get_scale(), scaler._get_growth_tracker(), *[x for t in tensors for x in t.flatten().tolist()]]
    return step, seen


@pytest.mark.jax
@pytest.mark.parametrize(("optimizer", "settings", "clips"), [
    ("SGD", {}, False), ("SGD", {"momentum": 0.9}, True), ("Adam", {}, True), ("AdamW", {"amsgrad": True}, False),
    ("RMSprop", {}, False),
])
def test_compiled_steps_are_skipped_by_the_program(optimizer, settings, clips):
    _, eager = train(optimizer, settings, lambda step: step, {2, 5, 6, 13}, clips)
    step, compiled = train(optimizer, settings, flambeau.compile, {2, 5, 6, 13}, clips)
    assert step.count == 1
    assert compiled == pytest.approx(eager, rel=1e-4, abs=1e-5)


@pytest.mark.jax
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_step_is_compiled_once_the_optimizer_has_made_one(optimizer):
    _, eager = train(optimizer, {}, lambda step: step, {0, 1, 2, 6})
    step, compiled = train(optimizer, {}, flambeau.compile, {0, 1, 2, 6})
    assert step.count == 1
    assert compiled == pytest.approx(eager, rel=1e-4, abs=1e-5)


def params_of(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def average(optimizer):
    """An average of the parameters, from a hook."""
    averages = [p.detach().clone() for p in params_of(optimizer)]

    @flambeau.no_grad()
    def hook(optimizer, args, kwargs):
        for mean, p in zip(averages, params_of(optimizer), strict=True):
            mean.lerp_(p, 0.5)

    optimizer.register_step_post_hook(hook)
    return averages


def noted_gradients(optimizer):
    """Tensors outside of the state of the optimizer, views of which a hook writes to; the gradients change too."""
    seen = [flambeau.zeros_like(p) for p in params_of(optimizer)]

    def hook(optimizer, args, kwargs):
        for own, p in zip(seen, params_of(optimizer), strict=True):
            own.view(-1)[:1].add_(p.grad.view(-1)[:1].clamp(-1, 1))
            p.grad.mul_(2)

    optimizer.register_step_pre_hook(hook)
    return seen


@pytest.mark.jax
@pytest.mark.parametrize("prepare", [average, noted_gradients])
def test_a_program_takes_back_all_that_a_step_has_written(prepare):
    _, eager = train("Adam", {}, lambda step: step, {2, 5}, prepare=prepare)
    step, compiled = train("Adam", {}, flambeau.compile, {2, 5}, prepare=prepare)
    assert step.count == 1
    assert compiled == pytest.approx(eager, rel=1e-4, abs=1e-5)


def count_steps(optimizer):
    steps = [0]
    optimizer.register_step_pre_hook(lambda *args: steps.__setitem__(0, steps[0] + 1))
    return []


def set_attribute(optimizer):
    optimizer.register_step_post_hook(lambda optimizer, *args: setattr(optimizer, "latest", optimizer.latest + 1))
    optimizer.latest = 0
    return []


def clear_gradients(optimizer):
    optimizer.register_step_post_hook(lambda optimizer, *args: optimizer.zero_grad())
    return []


def add_noise(optimizer):
    optimizer.register_step_post_hook(lambda optimizer, *args: params_of(optimizer)[0].grad.add_(flambeau.randn(4)))
    return []


@pytest.mark.jax
@pytest.mark.parametrize(("prepare", "what"), [
    (count_steps, "changes a list"), (set_attribute, "changes the attribute or name 'latest'"),
    (clear_gradients, "changes which tensors have gradients"), (add_noise, "changes the state of a random number generator"),
])
def test_a_compiled_step_that_may_be_skipped_changes_nothing_but_tensors(prepare, what):
    with pytest.raises(RuntimeError, match=what):
        train("SGD", {}, flambeau.compile, {5}, prepare=prepare)
