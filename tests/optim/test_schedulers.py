"""Schedulers give PyTorch's learning rates, state dicts, errors and warnings."""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import flambeau
from _programs import Programs

programs = Programs("optim_schedulers.json")
WORDS = 36  # characters of a message that are compared: the phrase that people search for


def chain(t, optimizer):
    s = t.optim.lr_scheduler
    return s.ChainedScheduler([s.ConstantLR(optimizer, factor=0.1, total_iters=3), s.ExponentialLR(optimizer, gamma=0.9)])


def sequence(t, optimizer):
    s = t.optim.lr_scheduler
    return s.SequentialLR(optimizer, [s.LinearLR(optimizer, total_iters=4), s.CosineAnnealingLR(optimizer, 10),
                                      s.StepLR(optimizer, 7), s.MultiStepLR(optimizer, [3, 9])], milestones=[5, 30, 60])


def nested(t, optimizer):
    s = t.optim.lr_scheduler
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the second step that the inner ones make at once
        return s.SequentialLR(optimizer, [chain(t, optimizer), s.PolynomialLR(optimizer, 20)], milestones=[9])


class Falling:
    """A function that is an object, with state of its own."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, epoch):
        return self.rate**epoch


def of(name, *args, owner="lr_scheduler", **kwargs):
    return lambda t, optimizer: getattr(getattr(t.optim, owner), name)(optimizer, *args, **kwargs)


SCHEDULERS = {
    "StepLR": of("StepLR", 5), "StepLR gamma": of("StepLR", 3, gamma=0.5), "MultiStepLR": of("MultiStepLR", [4, 9, 9, 50]),
    "ConstantLR": of("ConstantLR"), "ConstantLR long": of("ConstantLR", factor=0.5, total_iters=40), "LinearLR": of("LinearLR"),
    "LinearLR down": of("LinearLR", start_factor=1.0, end_factor=0.1, total_iters=70), "ExponentialLR": of("ExponentialLR", 0.97),
    "PolynomialLR": of("PolynomialLR", 50, power=2.0), "PolynomialLR short": of("PolynomialLR"),
    "CosineAnnealingLR": of("CosineAnnealingLR", 13), "CosineAnnealingLR floor": of("CosineAnnealingLR", 25, eta_min=0.01),
    "CosineAnnealingWarmRestarts": of("CosineAnnealingWarmRestarts", 7),
    "CosineAnnealingWarmRestarts longer": of("CosineAnnealingWarmRestarts", 3, T_mult=2, eta_min=0.001),
    "LambdaLR": of("LambdaLR", lambda e: 0.95**e), "LambdaLR list": of("LambdaLR", [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "LambdaLR object": of("LambdaLR", Falling(0.9)), "MultiplicativeLR": of("MultiplicativeLR", lambda e: 0.9 + e / 1000),
    "CyclicLR": of("CyclicLR", 0.01, 0.5, step_size_up=4, cycle_momentum=False),
    "CyclicLR triangular2": of("CyclicLR", [0.01, 0.02], 0.5, step_size_up=3, step_size_down=5, mode="triangular2"),
    "CyclicLR exp_range": of("CyclicLR", 0.01, 0.5, step_size_up=3, mode="exp_range", gamma=0.97),
    "CyclicLR function": of("CyclicLR", 0.01, 0.5, step_size_up=3, scale_fn=Falling(0.8), scale_mode="cycle"),
    "OneCycleLR": of("OneCycleLR", 0.7, total_steps=101), "OneCycleLR lists": of(
        "OneCycleLR", [0.7, 0.3], epochs=20, steps_per_epoch=6, anneal_strategy="linear", base_momentum=[0.5, 0.6]),
    "OneCycleLR three phases": of("OneCycleLR", 0.7, total_steps=110, three_phase=True, pct_start=0.2, div_factor=5.0),
    "SWALR": of("SWALR", 0.05, owner="swa_utils", anneal_epochs=4), "SWALR at once": of(
        "SWALR", [0.05, 0.01], owner="swa_utils", anneal_epochs=0),
    "SWALR linear": of("SWALR", 0.05, owner="swa_utils", anneal_epochs=20, anneal_strategy="linear"),
    "SequentialLR": sequence, "ChainedScheduler": chain, "SequentialLR of ChainedScheduler": nested,
    "ReduceLROnPlateau": of("ReduceLROnPlateau", patience=2),
    "ReduceLROnPlateau max": of("ReduceLROnPlateau", mode="max", factor=0.3, patience=1, cooldown=2),
    "ReduceLROnPlateau abs": of("ReduceLROnPlateau", threshold=0.05, threshold_mode="abs", min_lr=[0.1, 0.2], patience=0),
}
METRICS = [1.0, 0.9, 0.9, 0.91, 0.9, 0.85, 0.86, 0.87, 0.88, 0.6] * 12


def optimizer_of(t, kind="SGD", lr=0.5):
    a, b = t.nn.Parameter(t.zeros(2)), t.nn.Parameter(t.zeros(2))
    return getattr(t.optim, kind)([{"params": [a]}, {"params": [b], "lr": lr / 2}], lr=lr, **(
        {"momentum": 0.9} if kind == "SGD" else {}))


def rates(optimizer):
    return [[float(g["lr"]), float(g.get("momentum", 0)), *map(float, g.get("betas", ()))] for g in optimizer.param_groups]


def run(optimizer, scheduler, steps, start=0):
    """Learning rates and momenta before each step, and what the scheduler says they are."""
    found = []
    for nr in range(start, start + steps):
        found.append([rates(optimizer), [float(lr) for lr in scheduler.get_last_lr()]])
        optimizer.step()
        scheduler.step(*[METRICS[nr]] if type(scheduler).__name__ == "ReduceLROnPlateau" else [])
    return found


@programs
def first_rates(t):
    found = {}
    for name, make in SCHEDULERS.items():
        optimizer = optimizer_of(t)
        scheduler = make(t, optimizer)
        found[name] = [run(optimizer, scheduler, 12), sorted(scheduler.state_dict())]
    return found


@programs
def with_betas(t):
    found = []
    for name in ("CyclicLR triangular2", "OneCycleLR"):
        optimizer = optimizer_of(t, "Adam")
        found.append(run(optimizer, SCHEDULERS[name](t, optimizer), 8))
    return found


@programs
def rates_that_are_tensors(t):
    found = []
    for name in ("StepLR", "LinearLR", "CosineAnnealingLR", "LambdaLR", "CyclicLR exp_range", "OneCycleLR",
                 "ReduceLROnPlateau abs", "SequentialLR"):
        optimizer = optimizer_of(t, lr=t.tensor(0.5))
        held = optimizer.param_groups[0]["lr"]
        scheduler = SCHEDULERS[name](t, optimizer)
        found.append([name, run(optimizer, scheduler, 8), optimizer.param_groups[0]["lr"] is held])
    return found


@programs
def epochs_that_are_given(t):
    found = {}
    for name, make in SCHEDULERS.items():
        if "Reduce" not in name and "Sequential" not in name and "Chained" not in name:
            optimizer = optimizer_of(t)
            scheduler = make(t, optimizer)
            optimizer.step()
            found[name] = []
            for epoch in (3, 7, 8, 40, 2):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    scheduler.step(epoch)
                found[name].append([rates(optimizer), len(caught)])
    return found


@programs
def sequences_whose_first_schedulers_never_run(t):
    found = []
    for milestones in ([0, 2], [0, 0], [2, 2]):
        optimizer, s = optimizer_of(t), t.optim.lr_scheduler
        scheduler = s.SequentialLR(optimizer, [s.ConstantLR(optimizer, 0.1), s.ExponentialLR(optimizer, 0.5),
                                               s.LinearLR(optimizer)], milestones)
        found.append([rates(optimizer), scheduler.get_last_lr(), run(optimizer, scheduler, 4)])
    return found


@programs
def going_on_by_last_epoch(t):
    found = {}
    for name, make in {"StepLR": of("StepLR", 3, last_epoch=4), "ExponentialLR": of("ExponentialLR", 0.9, last_epoch=4),
                       "CosineAnnealingLR": of("CosineAnnealingLR", 10, last_epoch=4), "LinearLR": of("LinearLR", last_epoch=2),
                       "PolynomialLR": of("PolynomialLR", 9, last_epoch=4), "LambdaLR": of("LambdaLR", Falling(0.9), last_epoch=4),
                       "MultiplicativeLR": of("MultiplicativeLR", Falling(0.9), last_epoch=4),
                       "OneCycleLR": of("OneCycleLR", 0.7, total_steps=20, last_epoch=4),
                       "CosineAnnealingWarmRestarts": of("CosineAnnealingWarmRestarts", 4, 2, last_epoch=13)}.items():
        optimizer = optimizer_of(t)
        of("OneCycleLR", 0.7, total_steps=20)(t, optimizer)  # gives the groups their settings
        found[name] = run(optimizer, make(t, optimizer), 5)
    return found


def told(function):
    """The type of the exception that a call raises, and how its message begins; or those of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function()
        except Exception as error:
            return [type(error).__name__, str(error.args[0] if error.args else "")[:WORDS]]
    return [[w.category.__name__, str(w.message)[:WORDS]] for w in caught]


@programs
def mistakes(t):
    s, swa = t.optim.lr_scheduler, t.optim.swa_utils
    o = optimizer_of(t)

    def too_many_steps():
        scheduler = s.OneCycleLR(optimizer_of(t), 0.5, total_steps=2)
        for _ in range(4):
            scheduler.step()

    w = t.nn.Parameter(t.ones(1))
    return [told(call) for call in (
        lambda: s.LambdaLR(o, [abs]), lambda: s.MultiplicativeLR(o, [abs]), lambda: s.StepLR(3, 1),
        lambda: s.ConstantLR(o, factor=2), lambda: s.LinearLR(o, start_factor=0), lambda: s.LinearLR(o, end_factor=2),
        lambda: s.StepLR(optimizer_of(t), 3, last_epoch=2), lambda: s.CosineAnnealingWarmRestarts(o, 0),
        lambda: s.CosineAnnealingWarmRestarts(o, 2, T_mult=0), lambda: s.CosineAnnealingWarmRestarts(o, 2, eta_min="a"),
        lambda: s.CosineAnnealingWarmRestarts(o, 2).step(-1), lambda: s.CyclicLR(o, 0.1, 0.5, mode="other"),
        lambda: s.CyclicLR(t.optim.Adagrad([w]), 0.1, 0.5), lambda: s.CyclicLR(o, [0.1], 0.5), lambda: s.OneCycleLR(o, 0.5),
        lambda: s.OneCycleLR(o, 0.5, total_steps=-1), lambda: s.OneCycleLR(o, 0.5, epochs=0, steps_per_epoch=1),
        lambda: s.OneCycleLR(o, 0.5, epochs=1, steps_per_epoch=0), lambda: s.OneCycleLR(o, 0.5, total_steps=5, pct_start=2),
        lambda: s.OneCycleLR(o, 0.5, total_steps=5, anneal_strategy="other"), too_many_steps,
        lambda: s.OneCycleLR(t.optim.Adagrad([w]), 0.5, total_steps=5), lambda: s.ReduceLROnPlateau(o, factor=1.0),
        lambda: s.ReduceLROnPlateau(o, mode="other"), lambda: s.ReduceLROnPlateau(o, threshold_mode="other"),
        lambda: s.ReduceLROnPlateau(o, min_lr=[1]), lambda: s.ReduceLROnPlateau(3), lambda: s.SequentialLR(o, [], [1]),
        lambda: s.SequentialLR(o, [s.StepLR(o, 1), s.StepLR(optimizer_of(t), 1)], [1]),
        lambda: s.SequentialLR(o, [s.StepLR(o, 1)], [1]), lambda: s.SequentialLR(o, [3], []),
        lambda: s.SequentialLR(o, [s.ReduceLROnPlateau(o), s.StepLR(o, 1)], [1]), lambda: s.ChainedScheduler([]),
        lambda: s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(optimizer_of(t), 1)]),
        lambda: s.ChainedScheduler([s.StepLR(o, 1)], optimizer_of(t)), lambda: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
        lambda: swa.SWALR(o, [0.1]), lambda: swa.SWALR(o, 0.1, anneal_strategy="other"),
        lambda: swa.SWALR(o, 0.1, anneal_epochs=-1), lambda: s.StepLR(optimizer_of(t), 1).get_lr(),
    )]


@programs
def order_of_steps(t):
    def scheduler_first(steps_between=False):
        optimizer = optimizer_of(t)
        scheduler = t.optim.lr_scheduler.StepLR(optimizer, 1)
        scheduler.step()
        if steps_between:
            optimizer.step()
        scheduler.step()

    def optimizer_first():
        optimizer = optimizer_of(t)
        scheduler = t.optim.lr_scheduler.StepLR(optimizer, 1)
        optimizer.step()
        scheduler.step()

    def replaced(before):
        optimizer = optimizer_of(t)
        if before:
            optimizer.step = lambda: None
        scheduler = t.optim.lr_scheduler.StepLR(optimizer, 1)
        if not before:
            optimizer.step = lambda: None
        optimizer.step()
        scheduler.step()

    return [told(scheduler_first), told(lambda: scheduler_first(True)), told(optimizer_first),
            told(lambda: replaced(False))]


@programs
def averaged_models(t):
    found = []
    swa = t.optim.swa_utils
    for options in ({}, {"avg_fn": swa.get_ema_avg_fn(0.9)}, {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
                    {"avg_fn": swa.get_swa_avg_fn()}, {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
                    {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.5), "use_buffers": True}):
        model = t.nn.BatchNorm1d(2)
        average = swa.AveragedModel(model, **options)
        for nr in range(3):
            with t.no_grad():
                model.weight.fill_(float(nr + 1))
                model.running_mean.fill_(2.0 * nr)
            average.update_parameters(model)
        found.append([list(average.state_dict().items()), repr(average), average(t.ones(3, 2)).shape])
    wrong = [told(lambda: swa.get_ema_avg_fn(2)), told(lambda: swa.get_ema_multi_avg_fn(-1)),
             told(lambda: swa.AveragedModel(model, avg_fn=abs, multi_avg_fn=abs))]
    return [[[list(map(list, state)), text, list(shape)] for state, text, shape in found], wrong]


@programs
def batch_norm_statistics(t):
    model = t.nn.Sequential(t.nn.BatchNorm1d(2), t.nn.ReLU()).eval()
    batches = [t.arange(6.0).reshape(3, 2), t.ones(4, 2)]
    t.optim.swa_utils.update_bn([(batch, 0) for batch in batches], model)
    first = [model[0].running_mean.clone(), model[0].running_var.clone(), model.training, model[0].momentum]
    t.optim.swa_utils.update_bn(batches[:1], model, device="cpu")
    t.optim.swa_utils.update_bn(batches, t.nn.ReLU())
    return [first, model[0].running_mean]


test_as_recorded, test_as_torch_does = programs.tests()


@pytest.mark.oracle
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_hundred_steps(name):
    torch = pytest.importorskip("torch")
    ours, theirs = optimizer_of(flambeau), optimizer_of(torch)
    got, want = [run(o, SCHEDULERS[name](t, o), 100) for t, o in ((flambeau, ours), (torch, theirs))]
    for nr, (a, b) in enumerate(zip(got, want, strict=True)):
        np.testing.assert_allclose(a[0], b[0], rtol=1e-9, atol=1e-12, err_msg=f"rates before step {nr}")
        np.testing.assert_allclose(a[1], b[1], rtol=1e-9, atol=1e-12, err_msg=f"get_last_lr() before step {nr}")


@pytest.mark.oracle
@pytest.mark.parametrize("to_theirs", [True, False], ids=["to torch", "from torch"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_state_dicts_are_exchanged_with_pytorch(name, to_theirs):
    torch = pytest.importorskip("torch")
    first, second = (flambeau, torch) if to_theirs else (torch, flambeau)
    optimizer, other = optimizer_of(first), optimizer_of(second)
    scheduler, following = SCHEDULERS[name](first, optimizer), SCHEDULERS[name](second, other)
    run(optimizer, scheduler, 8)
    following.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    other.load_state_dict(optimizer.state_dict())
    other.step()
    for got, want in zip(run(other, following, 20, 8), run(optimizer, scheduler, 20, 8), strict=True):
        np.testing.assert_allclose(got[0], want[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_saved_in_the_middle(name):
    """A scheduler that loads the state of another goes on as that one does; so does a copy of both."""
    optimizer = optimizer_of(flambeau)
    scheduler = SCHEDULERS[name](flambeau, optimizer)
    run(optimizer, scheduler, 8)
    other = optimizer_of(flambeau)
    following = SCHEDULERS[name](flambeau, other)
    following.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    other.load_state_dict(optimizer.state_dict())
    copied, its_scheduler = copy.deepcopy((optimizer, scheduler))
    want = run(optimizer, scheduler, 15, 8)
    assert run(other, following, 15, 8) == want
    assert run(copied, its_scheduler, 15, 8) == want


def test_pickled():
    optimizer = optimizer_of(flambeau)
    scheduler = SCHEDULERS["SequentialLR"](flambeau, optimizer)
    run(optimizer, scheduler, 8)
    copied, its_scheduler = pickle.loads(pickle.dumps((optimizer, scheduler)))
    assert its_scheduler.optimizer is copied
    assert run(copied, its_scheduler, 15, 8) == run(optimizer, scheduler, 15, 8)


def test_a_previously_replaced_step_is_accepted():
    optimizer = optimizer_of(flambeau)
    optimizer.step = lambda: None
    scheduler = flambeau.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    scheduler.step()
    assert math.isclose(optimizer.param_groups[0]["lr"], 0.05)
