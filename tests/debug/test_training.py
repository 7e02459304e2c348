"""check_training: a program for each fault, and programs without one."""

import random
import time

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.debug.training import TrainingObserver, check_observed
from flambeau.utils.data import DataLoader, TensorDataset


def classes(n=64, features=8, kinds=3, scale=1.0):
    """Samples in clouds, one a class."""
    y = torch.randint(kinds, (n,))
    return torch.randn(n, features) * scale + 3 * scale * nn.functional.one_hot(y, features).float(), y


def loader(x=None, y=None, batch=16, **options):
    x, y = classes() if x is None else (x, y)
    return DataLoader(TensorDataset(x, y), batch_size=batch, **{"shuffle": True, **options})


def net(*layers):
    return nn.Sequential(nn.Linear(8, 16), *(layers or (nn.ReLU(),)), nn.Linear(16, 3))


def check(model=None, data=None, loss=None, optimizer=None, lr=0.05, **options):
    model = model or net()
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=lr)
    return torch.check_training(model, loss or nn.CrossEntropyLoss(), data or loader(), optimizer, **options)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


class Part(nn.Module):
    """A network of which only a part is used, or otherwise than it should be."""

    def __init__(self, forward):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 16), nn.Linear(16, 3), nn.Linear(3, 3)
        self.run = forward

    def forward(self, x):
        return self.run(self, x)


def part(forward):
    return lambda: check(Part(forward))


def not_in_optimizer():
    model = net()
    return check(model, optimizer=torch.optim.SGD(model[0].parameters(), lr=0.05))


def replaced():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model[2] = nn.Linear(16, 3)
    return check(model, optimizer=optimizer)


def in_eval_mode():
    return check(net().eval())


def frozen():
    with torch.no_grad():
        return check()


def dead():
    model = net()
    nn.init.constant_(model[0].bias, -100.0)
    return check(model)


def vanishing():
    layers = [layer for _ in range(12) for layer in (nn.Sigmoid(), nn.Linear(16, 16))]
    model = net(*layers)
    for p in model.parameters():
        nn.init.normal_(p, std=0.02)
    return check(model)


def large_weights():
    model = net()
    nn.init.normal_(model[2].weight, std=30.0)
    return check(model, lr=1e-4)


def regression(model, x, y, loss=None, lr=0.01):
    return check(model, loader(x, y), loss or nn.MSELoss(), lr=lr)


def same_seed(_):
    np.random.seed(0)
    random.seed(0)
    torch.manual_seed(0)


def steps_of(step, count=5):
    """The report on a loop that the user wrote."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with TrainingObserver() as observer:
        for _ in range(count):
            step(model, optimizer, *classes(16))
    return check_observed(observer)


def forgotten_zero_grad(model, optimizer, x, y):
    nn.CrossEntropyLoss()(model(x), y).backward()
    optimizer.step()


HELD = []


def held_loss(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(x), y)
    loss.backward()
    optimizer.step()
    HELD.append(loss)


def sum_into(total):
    def loss(output, target):
        return nn.functional.cross_entropy(output, target) + total

    return loss


FAULTS = {
    "not-in-optimizer": not_in_optimizer,
    "replaced-parameters": replaced,
    "no-gradient": part(lambda m, x: m.b(m.a(x).relu())),
    "no-grad": frozen,
    "zero-grad": lambda: steps_of(forgotten_zero_grad),
    "eval-mode": in_eval_mode,
    "softmax-twice": lambda: check(nn.Sequential(net(), nn.Softmax(1))),
    "bounded-logits": lambda: check(nn.Sequential(net(), nn.Sigmoid())),
    "sigmoid-twice": lambda: check(
        nn.Sequential(nn.Linear(8, 1), nn.Sigmoid()), loader(torch.randn(64, 8), torch.rand(64, 1).round()),
        nn.BCEWithLogitsLoss(),
    ),
    "nll-of-logits": lambda: check(loss=nn.NLLLoss()),
    "first-loss": large_weights,
    "loss-not-finite": lambda: check(loss=sum_into(float("inf"))),
    "constant-input": lambda: check(data=loader(torch.ones(64, 8), classes()[1])),
    "input-range": lambda: check(data=loader(*classes(scale=100.0)), lr=1e-5),
    "same-batch": lambda: check(data=[(x.clone(), y.clone()) for x, y in [classes(16)] * 5]),
    "batch-norm": lambda: check(net(nn.BatchNorm1d(16), nn.ReLU()), loader(batch=2)),
    "dead-relu": dead,
    "vanishing-gradient": vanishing,
    "exploding-gradient": lambda: check(
        data=loader(*classes()), loss=lambda out, y: 1e6 * nn.functional.cross_entropy(out, y), lr=1e-8
    ),
    "kept-graph": lambda: steps_of(held_loss),
    "not-shuffled": lambda: check(data=loader(shuffle=False)),
    "worker-seeds": lambda: check(data=loader(num_workers=2, worker_init_fn=same_seed)),
    "ignores-input": part(lambda m, x: m.c(m.b(m.a(x.detach() * 0)))),
    "mixes-samples": part(lambda m, x: m.c(m.b(m.a(x - x.mean(0))))),
    "lr-too-high": lambda: check(lr=50.0),
    "lr-too-low": lambda: check(lr=1e-7),
    "cannot-overfit": lambda: check(loss=lambda out, y: nn.functional.cross_entropy(out, y) * 0 + 1.0 + 0 * out.sum()),
    "error": lambda: check(data=loader(torch.randn(64, 9), torch.randint(3, (64,)))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(fault):
    report = FAULTS[fault]()
    HELD.clear()
    assert fault in report, str(report)
    assert not report and f"[{fault}]" in str(report) and "cure: " in str(report)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def images():
    x, y = classes(64, features=64)
    return x.view(64, 1, 8, 8), y


def convolution():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2), nn.Flatten(),
        nn.Linear(72, 3),
    )


def sequences():
    x, y = classes(64)
    return x.unsqueeze(1).repeat(1, 5, 1), y


def line():
    x = torch.randn(64, 8)
    return x, x @ torch.randn(8, 1)


HEALTHY = {
    "mlp": lambda: check(),
    "adam": lambda: check_with_adam(net(nn.GELU())),
    "cnn": lambda: check(convolution(), loader(*images())),
    "lstm": lambda: check_with_adam(Recurrent(), loader(*sequences())),
    "regression": lambda: regression(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)), *line(), lr=0.05),
    "probabilities": lambda: check(nn.Sequential(net(), nn.LogSoftmax(1)), loss=nn.NLLLoss()),
    "workers": lambda: check(data=loader(num_workers=2)),
    "loop": lambda: steps_of(right_step),
    "two optimizers": lambda: adversaries(),
}


def check_with_adam(model, data=None):
    return check(model, data, optimizer=torch.optim.Adam(model.parameters(), lr=0.005))


def right_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


def adversaries():
    """The backward of the second model leaves gradients in the first, which its own step clears."""
    judge, forger = (nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, n)) for n in (1, 4))
    first, second = (torch.optim.Adam(model.parameters(), lr=0.005) for model in (judge, forger))
    criterion, real, fake = nn.BCEWithLogitsLoss(), torch.ones(16, 1), torch.zeros(16, 1)
    with TrainingObserver() as observer:
        for _ in range(5):
            forged = forger(torch.randn(16, 4))
            first.zero_grad()
            (criterion(judge(torch.randn(16, 4) + 1), real) + criterion(judge(forged.detach()), fake)).backward()
            first.step()
            second.zero_grad()
            criterion(judge(forged), real).backward()
            second.step()
    return check_observed(observer)


@pytest.mark.parametrize("name", HEALTHY)
def test_no_false_alarm(name):
    begin = time.monotonic()
    report = HEALTHY[name]()
    assert report, str(report)
    assert "found no problems" in str(report) and report.checks >= 14
    assert time.monotonic() - begin < 60


def test_all_stays_as_it_was():
    model, data = convolution(), loader(*images())
    optimizer = torch.optim.Adam(model.parameters())
    before = {name: t.clone() for name, t in model.state_dict().items()}
    state = torch.get_rng_state()
    torch.check_training(model, nn.CrossEntropyLoss(), data, optimizer)
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    assert not optimizer.state and all(p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(m._forward_hooks for m in model.modules())


def test_other_batches():
    data = [{"x": torch.randn(8, 8), "y": torch.randint(3, (8,))} for _ in range(3)]
    with pytest.raises(TypeError, match=r"\(inputs, targets\), got a dict.*call="):
        check(data=data)
    assert "error" not in check(data=data, call=lambda model, batch: (model(batch["x"]), batch["y"]))
    with pytest.raises(ValueError, match="the loader is empty"):
        check(data=[()][:0] or iter(()))
