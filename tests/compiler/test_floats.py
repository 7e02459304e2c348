"""Floats from outside are inputs of a program: one program for all of their values, or a new one, never a stale one."""

import logging
import math
import types

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


RATES = [0.5, 0.25, 0.75, 1.5, 3.0]

ONE_PROGRAM = {
    "x * r": lambda x, r: x * r,
    "r * x": lambda x, r: r * x,
    "x + r": lambda x, r: x + r,
    "r - x": lambda x, r: r - x,
    "x / r": lambda x, r: x / r,
    "r / x": lambda x, r: r / x,
    "-r": lambda x, r: x * -r,
    "abs": lambda x, r: x * abs(r),
    "r ** 2": lambda x, r: x * r**2,
    "1 - b ** step": lambda x, r: x / (1 - r**7),
    "r * r + 1": lambda x, r: x * (r * r + 1),
    "r // 2 % 3": lambda x, r: x * (r // 0.3 % 3),
    "sum of numbers": lambda x, r: x * sum([r, 1.0, 2]),
    "isinstance": lambda x, r: x * r if isinstance(r, float) else x,
    "comparison": lambda x, r: x * r if r > 0 else x,
    "truth": lambda x, r: x * r if r else x,
    "add with alpha": lambda x, r: x.add(x, alpha=r),
    "sub with alpha": lambda x, r: x.sub(x, alpha=-r),
    "addcmul": lambda x, r: x.addcmul(x, x, value=r + 9),
    "addcdiv": lambda x, r: x.addcdiv(x, x, value=-r),
    "in place": lambda x, r: x.clone().mul_(r).add_(x, alpha=r),
    "integer tensor": lambda x, r: x.long() * r,
    "double tensor": lambda x, r: x.double() * r,
    "0-dim tensor": lambda x, r: x[0] * r,
    "in a tuple": lambda x, r: x * (r, 1)[0],
    "returned": lambda x, r: (x, r * 2),
}
ANY_PROGRAM = {
    "math.sqrt": lambda x, r: x * math.sqrt(r),
    "int": lambda x, r: x * int(4 * r),
    "round": lambda x, r: x * round(r),
    "format": lambda x, r: x * len(f"{r:.3g}"),
    "old format": lambda x, r: x * len("%s" % r),  # noqa: UP031
    "str": lambda x, r: x * len(str(r)),
    "hash": lambda x, r: x * (hash(r) % 7),
    "in a dict": lambda x, r: x * {0.5: 1, 0.25: 2}.get(r, 3),
    "loop": lambda x, r: sum([x for _ in range(int(r * 4))], x),
    "is_integer": lambda x, r: x * (2 if r.is_integer() else 3),
    "hex": lambda x, r: x * len(r.hex()),
    "exact type": lambda x, r: x * (2 * r if type(r) is float else 3),
    "divmod": lambda x, r: x * divmod(r, 0.3)[0],
    "complex power": lambda x, r: x * ((r - 1) ** 0.5).real,
    "max": lambda x, r: x * max(r, 0.6),
    "clamp": lambda x, r: x.clamp(max=r),
    "fill": lambda x, r: torch.full((3,), r) + x,
    "fill_": lambda x, r: x.clone().fill_(r),
    "tensor": lambda x, r: torch.tensor(r) * x,
    "where": lambda x, r: torch.where(x > 1, r, x),
    "set item": lambda x, r: x.clone().index_fill_(0, torch.tensor([1]), r),
    "constant tensor": lambda x, r: torch.ones(3) * r + x,
    "power": lambda x, r: x**r,
    "power of a number": lambda x, r: r**x,
    "lerp": lambda x, r: x.lerp(x * 2, r),
    "compare": lambda x, r: (x > r) * x,
    "half": lambda x, r: x.half() * r,
    "bfloat16 with alpha": lambda x, r: x.bfloat16().add(x.bfloat16(), alpha=r),
    "dropout": lambda x, r: nn.functional.dropout(x, min(r, 1.0)),
    "uniform": lambda x, r: torch.empty(3).uniform_(0, r) + x,
    "leaky relu": lambda x, r: nn.functional.leaky_relu(-x, r),
    "layer norm": lambda x, r: nn.functional.layer_norm(x, (3,), eps=r),
    "linspace": lambda x, r: torch.linspace(0, r, 3) * x,
    "numpy": lambda x, r: x * float(np.sqrt(r)),
    "numpy array": lambda x, r: x * torch.from_numpy(np.array([1, 2, 3], np.float32) * r),
    "numpy full": lambda x, r: x * torch.from_numpy(np.full(3, r)),
    "numpy where": lambda x, r: x * torch.from_numpy(np.where([True, False, True], r, 1.0)),
    "fraction": lambda x, r: x * r.as_integer_ratio()[0],
}


class Model(nn.Module):
    pass


class Holder:
    __slots__ = ("rate",)


def places():
    """name -> (read, set): where a float may be."""
    model, slotted, space = Model(), Holder(), types.SimpleNamespace(rate=0.5)
    model.rate = slotted.rate = 0.5
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.5)
    optimizer.param_groups[0]["betas"] = (0.5, 0.9)
    table, items, value = {"rate": 0.5}, [0.5], 0.5

    def set_value(new):
        nonlocal value
        value = new

    return {
        "param_groups": (lambda: optimizer.param_groups[0]["lr"], lambda v: optimizer.param_groups[0].update(lr=v)),
        "tuple": (lambda: optimizer.param_groups[0]["betas"][0],
                  lambda v: optimizer.param_groups[0].update(betas=(v, 0.9))),
        "attribute of a module": (lambda: model.rate, lambda v: setattr(model, "rate", v)),
        "slot": (lambda: slotted.rate, lambda v: setattr(slotted, "rate", v)),
        "namespace": (lambda: space.rate, lambda v: setattr(space, "rate", v)),
        "dict": (lambda: table["rate"], lambda v: table.update(rate=v)),
        "list": (lambda: items[0], lambda v: items.__setitem__(0, v)),
        "closure": (lambda: value, set_value),
        "global name": (lambda: RATE, lambda v: globals().update(RATE=v)),
    }


RATE = 0.5


def agree(function, place, device="cpu"):
    """Calls a function of a tensor and a float at a place, eagerly and compiled; returns how often it was compiled."""
    read, put = places()[place]
    compiled = torch.compile(lambda x: function(x, read()), recompile_limit=20)
    for rate in [0.5, 0.5, *RATES]:
        put(rate)
        results = []
        for call in (lambda x: function(x, rate), compiled):  # noqa: B023
            torch.manual_seed(0)
            results.append(call(torch.tensor([1.0, 2.0, 3.0], device=device)))
        torch.testing.assert_close(results[1], results[0])
        assert type(read()) is float and read() == rate
    return compiled.count


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("name", ONE_PROGRAM)
def test_one_program_serves_all_values(name, device):
    assert agree(ONE_PROGRAM[name], "param_groups", device) == 1


@pytest.mark.parametrize("name", ANY_PROGRAM)
def test_values_that_python_uses_are_not_stale(name):
    agree(ANY_PROGRAM[name], "param_groups")


@pytest.mark.parametrize("place", places())
def test_floats_at_all_places_are_inputs(place):
    assert agree(lambda x, r: x * r, place) == 1


@pytest.mark.parametrize("value", [2, True, None, float("nan"), float("inf"), -0.0, np.float64(2), "x"])
def test_something_else_at_the_place_is_noticed(value):
    group = {"lr": 0.5}
    function = lambda x: x / group["lr"] if isinstance(group["lr"], int | float) else x - 1  # noqa: E731
    compiled = torch.compile(function)
    for rate in (0.5, 0.5, 0.25, value, value):
        group["lr"] = rate
        torch.testing.assert_close(compiled(torch.ones(2)), function(torch.ones(2)), equal_nan=True)


def test_a_comparison_binds_to_its_outcome():
    group, compiled = {"lr": 0.5}, torch.compile(lambda x: x * group["lr"] if group["lr"] > 1 else x + group["lr"])
    for rate in (0.5, 0.5, 0.25, 0.75):
        group["lr"] = rate
        assert compiled(torch.ones(1)).item() == 1 + rate
    assert compiled.count == 1
    for rate in (2.0, 3.0, 0.5, 4.0):
        group["lr"] = rate
        assert compiled(torch.ones(1)).item() == (rate if rate > 1 else 1 + rate)
    assert compiled.count == 2


def test_a_float_modified_by_the_function_is_modified_by_every_run():
    plain, other = {"lr": 1.0}, {"lr": 1.0}

    def decay(x, group):
        group["lr"] *= 0.5
        return x * group["lr"]

    compiled = torch.compile(lambda x: decay(x, other))
    for _ in range(6):
        assert compiled(torch.ones(1)).item() == decay(torch.ones(1), plain).item()
        assert other == plain and type(other["lr"]) is float
    assert compiled.count == 1


def test_python_errors_are_raised_as_eagerly():
    group, compiled = {"lr": 0.5}, torch.compile(lambda x: x * (1 / group["lr"]))
    for _ in range(3):
        assert compiled(torch.ones(1)).item() == 2
    group["lr"] = 0.0
    with pytest.raises(ZeroDivisionError):
        compiled(torch.ones(1))
    group["lr"] = 0.25
    assert compiled(torch.ones(1)).item() == 4


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def test_one_program_serves_twenty_learning_rates(caplog):
    caplog.set_level(logging.INFO, logger="flambeau.compiler")
    plain, other = Trainer(), Trainer()
    step = torch.compile(other.step)
    for nr in range(20):
        for trainer in (plain, other):
            group = trainer.optimizer.param_groups[0]
            group["lr"] *= 0.9
            group["momentum"] = 0.9 - 0.01 * nr
            group["weight_decay"] = 0.01 + 0.001 * nr
        x = torch.full((4, 3), 1.0 + nr) * torch.arange(4.0)[:, None]
        torch.testing.assert_close(step(x), plain.step(x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(other.model.state_dict(), plain.model.state_dict(), rtol=1e-4, atol=1e-5)
    assert len(caplog.records) == 1
