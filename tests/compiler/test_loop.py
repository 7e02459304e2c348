"""Loops of compiled steps: many steps in one dispatch match the steps run one by one."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax

STEPS = 4

MODELS = {
    "linear": lambda: nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)),
    "batch norm": lambda: nn.Sequential(nn.Linear(3, 8, bias=False), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 2)),
    "embedding": lambda: nn.Sequential(nn.Linear(3, 8), Lookup(), nn.Linear(8, 2)),
}
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


class Lookup(nn.Module):
    """Adds rows that are looked up: the program checks that the indices are within bounds."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 8)
        self.register_buffer("index", torch.tensor([0, 3, 1, 1, 2]))

    def forward(self, x):
        return x + self.table(self.index)


def trainer(model, optimizer, device):
    torch.manual_seed(0)
    model = MODELS[model]().to(device)
    optimizer = OPTIMIZERS[optimizer](model.parameters())

    @torch.compile
    def step(x, y):
        optimizer.zero_grad()
        out = model(x)
        loss = nn.functional.mse_loss(out, y)
        loss.backward()
        optimizer.step()
        return {"loss": loss, "out": out.detach()}

    return model, optimizer, step


def batches(device, seed):
    torch.manual_seed(seed)
    return torch.randn(STEPS, 5, 3).to(device), torch.randn(STEPS, 5, 2).to(device)


def state_of(model, optimizer):
    grads = [p.grad for p in model.parameters()]
    moments = [v for own in optimizer.state.values() for v in own.values() if isinstance(v, torch.Tensor)]
    return [t.detach().cpu().numpy() for t in (*model.state_dict().values(), *grads, *moments)]


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize(("model", "optimizer"), [("linear", "SGD"), ("batch norm", "Adam"), ("embedding", "SGD")])
def test_a_loop_does_what_its_steps_do(model, optimizer, device):
    single, looped = trainer(model, optimizer, device), trainer(model, optimizer, device)
    for seed in range(3):
        xs, ys = batches(device, seed)
        torch.manual_seed(seed)
        want = [single[2](x, y) for x, y in zip(xs, ys, strict=True)]
        torch.manual_seed(seed)
        got = looped[2].loop(xs, ys)
        assert got["loss"].shape == (STEPS,) and got["out"].shape == (STEPS, 5, 2)
        assert got["loss"].device == xs.device and not got["loss"].requires_grad
        for name, t in got.items():
            each = [w[name].detach().cpu().numpy() for w in want]
            np.testing.assert_allclose(t.cpu().numpy(), each, rtol=1e-5, atol=1e-6)
        for a, b in zip(state_of(*looped[:2]), state_of(*single[:2]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    program, = looped[2].programs[next(iter(looped[2].programs))]
    assert [*program.loop.executables] == [STEPS]


def test_the_learning_rate_of_a_loop_is_an_input():
    model, optimizer, step = trainer("linear", "SGD", "cpu")
    xs, ys = batches("cpu", 0)
    for _ in range(3):
        step.loop(xs, ys)
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.param_groups[0]["lr"] = 0.0
    step.loop(xs, ys)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert step.count == 1


def test_steps_that_change_more_than_tensors_run_one_by_one():
    seen = []

    @torch.compile
    def step(x):
        seen.append(len(seen))
        return x * 2

    with pytest.warns(RuntimeWarning):
        results = [step.loop(torch.arange(3.0)).tolist() for _ in range(4)]
    assert results == [[0.0, 2.0, 4.0]] * 4 and seen == [*range(12)]


def test_batches_in_containers_are_taken_apart():
    step = torch.compile(lambda batch: {**batch, "sum": batch["a"] + batch["b"]})
    same = torch.compile(lambda batch: batch)
    batch = {"a": torch.arange(3.0), "b": torch.ones(3, 2)}
    for _ in range(4):
        got = step.loop(batch)
        assert got["sum"].tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]] and torch.equal(got["a"], batch["a"])
        got = same.loop(batch)
        assert [*got] == ["a", "b"] and torch.equal(got["b"], batch["b"])


def test_gradients_that_accumulate_are_summed_over_the_loop():
    weight = torch.ones(2, requires_grad=True)

    @torch.compile
    def step(x):
        loss = (weight * x).sum()
        loss.backward()
        return loss.detach()

    for _ in range(3):
        step.loop(torch.ones(STEPS, 2))
    assert weight.grad.tolist() == [3.0 * STEPS] * 2


@pytest.mark.parametrize("shapes", [[(3, 2), (4, 2)], [()], [(0, 2)], []], ids=str)
def test_tensors_that_count_no_steps_are_refused(shapes):
    with pytest.raises(ValueError, match="first dimension counts the steps"):
        torch.compile(lambda *x: x).loop(*[torch.ones(shape) for shape in shapes])


def test_methods_have_loops():
    class Trainer:
        """Has a compiled method."""

        def __init__(self, device):
            torch.manual_seed(0)
            self.model = nn.Linear(3, 2).to(device)
            self.optimizer = OPTIMIZERS["SGD"](self.model.parameters())

        @torch.compile
        def step(self, x, y):
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            return loss.detach()

    single, looped = Trainer("xla"), Trainer("xla")
    for seed in range(3):
        xs, ys = batches("xla", seed)
        want = [single.step(x, y).item() for x, y in zip(xs, ys)]
        assert looped.step.loop(xs, ys).tolist() == pytest.approx(want, rel=1e-5)
        np.testing.assert_allclose(looped.model.weight.tolist(), single.model.weight.tolist(), rtol=1e-5)
    programs = [program for found in Trainer.step.programs.values() for program in found]
    assert any("loop" in vars(program) and program.loop.executables for program in programs)
