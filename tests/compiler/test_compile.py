"""Compiled functions behave like the originals: results, gradients, and all side effects."""

import dataclasses
from typing import NamedTuple

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F

pytestmark = [pytest.mark.jax, pytest.mark.optimized]


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


def close(a, b, what=""):
    assert type(a) is type(b), what
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad, what
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=lambda m: f"{what}: {m}", equal_nan=True)
    elif isinstance(a, tuple | list):
        assert len(a) == len(b), what
        for x, y in zip(a, b, strict=True):
            close(x, y, what)
    elif isinstance(a, dict):
        assert list(a) == list(b), what
        for key in a:
            close(a[key], b[key], f"{what}[{key!r}]")
    elif dataclasses.is_dataclass(a):
        close(vars(a), vars(b), what)
    else:
        assert a == b, what


class World:
    """A thing with a function on it: `run` is called several times, and what can be seen is compared."""

    programs = 1  # how many are compiled for that

    def __init__(self):
        torch.manual_seed(0)
        self.build()

    def build(self):
        pass

    def seen(self):
        return {}


def compare(world, *, calls=4, train=True, limit=8):
    """Runs a world as it is and compiled, and compares after each call."""
    plain, other = world(), world()
    compiled = torch.compile(other.run, recompile_limit=limit)
    for nr in range(calls):
        results = []
        for w, run in ((plain, plain.run), (other, compiled)):
            torch.manual_seed(100 + nr)
            args = w.args(nr)
            out = run(*args)
            tensors = []
            leaves(out, tensors)
            losses = [t.float().pow(2).sum() for t in tensors if t.requires_grad and t.grad_fn is not None]
            if train and losses:
                sum(losses).backward()
            results.append((out, list(args), w.seen(), torch.rand(2)))
            close_graph(args)
        close(results[0], results[1], f"{world.__name__}, call {nr}")
    return compiled


def close_graph(args):
    for a in args:
        if isinstance(a, torch.Tensor) and a.is_leaf:
            a.grad = None


def leaves(value, found):
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, tuple | list):
        for v in value:
            leaves(v, found)
    elif isinstance(value, dict):
        leaves(list(value.values()), found)
    elif dataclasses.is_dataclass(value):
        leaves(list(vars(value).values()), found)


class OfModule(World):
    """A module called with one random batch after the other."""

    shape = (3, 4)

    def run(self, *args):
        return self.model(*args)

    def args(self, nr):
        return (torch.randn(self.shape),)

    def seen(self):
        return {**self.model.state_dict(), "grads": [p.grad for p in self.model.parameters()]}


# ---- modules


class Perceptron(OfModule):
    def build(self):
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


class Convolutions(OfModule):
    shape = (2, 3, 8, 8)

    def build(self):
        self.model = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.GELU(), nn.MaxPool2d(2), nn.Dropout2d(0.4),
            nn.Conv2d(6, 4, 3, groups=2), nn.GroupNorm(2, 4), nn.AvgPool2d(2), nn.Flatten(), nn.LayerNorm(4),
            nn.AlphaDropout(0.2), nn.Linear(4, 3), nn.LogSoftmax(1),
        )


class Attention(OfModule):
    shape = (2, 5, 8)

    def build(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)
                self.register_buffer("mask", torch.ones(16, 16).tril().bool(), persistent=False)
                self.drop = nn.Dropout(0.1)

            def forward(self, x):
                b, t, c = x.shape
                q, k, v = (y.view(b, t, 2, 4).transpose(1, 2) for y in self.qkv(self.norm(x)).split(8, dim=-1))
                scores = (q @ k.transpose(-2, -1)) / 2.0
                scores = scores.masked_fill(~self.mask[:t, :t], float("-inf"))
                y = (self.drop(scores.softmax(-1)) @ v).transpose(1, 2).reshape(b, t, c)
                return x + self.out(y)

        self.model = nn.Sequential(Block(), Block())


class Tied(OfModule):
    """Embedding and head share their weight; the argument is not differentiable."""

    def build(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
                self.head.weight = self.embed.weight

            def forward(self, ids):
                return F.cross_entropy(self.head(self.embed(ids).mean(1)), ids[:, 0])

        self.model = Tied()

    def args(self, nr):
        return (torch.randint(0, 7, (3, 4)),)


class Rebinding(OfModule):
    """Buffers, plain attributes and new tensors are set by forward."""

    def build(self):
        class Rebinding(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(4))
                self.register_buffer("mean", torch.zeros(4))
                self.last = self.shape = None

            def forward(self, x):
                self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()
                self.last = x * self.weight
                self.shape = tuple(x.shape)
                return self.last - self.mean

        self.model = Rebinding()

    def seen(self):
        return {**super().seen(), "last": self.model.last.detach(), "shape": self.model.shape}


class Hooked(OfModule):
    def build(self):
        self.model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
        self.model[0].register_forward_hook(lambda m, i, o: o * 2)
        self.model[1].register_forward_pre_hook(lambda m, i: (i[0] + 1,))
        self.model[2].register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,))
        self.model[0].weight.register_hook(lambda g: g * 0.5)


class Parametrized(OfModule):
    def build(self):
        class Symmetric(nn.Module):
            def forward(self, x):
                return x.triu() + x.triu(1).T

        self.model = nn.Linear(4, 4)
        nn.utils.parametrize.register_parametrization(self.model, "weight", Symmetric())


# ---- functions


class Step(World):
    """A whole training step: zero_grad, forward, backward and step in one program."""

    def build(self):
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)

    def args(self, nr):
        return torch.randn(6, 4), torch.randint(0, 2, (6,))

    def run(self, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def seen(self):
        momenta = [self.optimizer.state[p].get("momentum_buffer") for p in self.model.parameters()]
        return {**self.model.state_dict(), "grads": [p.grad for p in self.model.parameters()], "momenta": momenta}


class Accumulating(Step):
    """Gradients are not cleared: they accumulate in place."""

    def run(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        return loss.detach()


class Scheduled(Step):
    """The learning rate changes between calls."""

    def args(self, nr):
        self.optimizer.param_groups[0]["lr"] = 0.1 * 0.5**nr
        return super().args(nr)


class Averaged(Step):
    """An average of all models, and a moving one, go along."""

    def build(self):
        super().build()
        ema = torch.optim.swa_utils.get_ema_multi_avg_fn(0.7)
        self.averages = [
            torch.optim.swa_utils.AveragedModel(self.model, use_buffers=True),
            torch.optim.swa_utils.AveragedModel(self.model, multi_avg_fn=ema),
            torch.optim.swa_utils.AveragedModel(self.model, avg_fn=torch.optim.swa_utils.get_swa_avg_fn()),
        ]

    def args(self, nr):
        if nr == 2:  # the averages begin again
            for average in self.averages:
                average.n_averaged.zero_()
        return super().args(nr)

    def run(self, x, y):
        loss = super().run(x, y)
        for average in self.averages:
            average.update_parameters(self.model)
        return loss

    def seen(self):
        return super().seen() | {f"average {nr}": [*a.state_dict().values()] for nr, a in enumerate(self.averages)}


class Functional(OfModule):
    """The module is called with other tensors in the place of its parameters."""

    def build(self):
        self.model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Tanh())

    def run(self, x):
        own = {name: p.detach() * 2 for name, p in self.model.named_parameters()}
        gradients = torch.func.grad(lambda p: torch.func.functional_call(self.model, p, (x,)).square().sum())(own)
        return gradients, self.model(x)


class WritesToArguments(World):
    def args(self, nr):
        return torch.randn(3, 4), torch.zeros(3)

    def run(self, x, into):
        x.mul_(2)
        x[0] = 7
        into.copy_(x.sum(1))
        return x[1:], x, into.view(1, 3)


class Views(World):
    def build(self):
        self.table = torch.arange(12.0).view(3, 4)
        self.row = torch.zeros(5)

    def args(self, nr):
        return (torch.randn(4),)

    def run(self, x):
        self.table[1].add_(x)
        self.table.t()[0] = 5
        self.row[1:4] += x[:3]
        out = torch.zeros(2, 4)
        out[0] = x
        out[1, ::2] = self.table[0, :2]
        total = torch.zeros(3, dtype=torch.int64)
        total[1] = (x > 0).sum()
        return out, total, self.table.diagonal() * 2

    def seen(self):
        return {"table": self.table, "row": self.row}


class Nested(World):
    programs = 2  # two kinds of calls are made

    def args(self, nr):
        return {"x": torch.randn(3), "many": [torch.randn(3), (torch.randn(2), nr % 2)]}, torch.randn(3, requires_grad=True)

    def run(self, d, y):
        class Pair(NamedTuple):
            a: torch.Tensor
            b: str

        a, (b, n) = d["many"]
        return {"sum": a + d["x"], "pair": (y * 2, Out(y.exp(), None)), "n": n, "same": d["x"], "list": [b, b]}


@dataclasses.dataclass
class Out:
    value: torch.Tensor
    other: object


class Random(World):
    def args(self, nr):
        return (torch.ones(3, 4),)

    def run(self, x):
        noise = torch.randn_like(x)
        order = torch.randperm(3)
        scale = torch.empty(4).uniform_(1, 2)
        return noise + x[order] * scale, torch.randint(0, 9, (5,)), F.dropout(x, 0.5), x.clone().normal_()


class CustomFunction(World):
    def build(self):
        self.w = torch.randn(3, requires_grad=True)

    def args(self, nr):
        return (torch.randn(3, requires_grad=True),)

    def run(self, x):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * x

        h = Double.apply(x * self.w)
        h.register_hook(lambda g: g * 10)
        return h, h.detach()

    def seen(self):
        return {"grad": self.w.grad}


class Penalty(World):
    """A gradient inside of the function, differentiated outside."""

    def build(self):
        self.w = torch.randn(3, requires_grad=True)

    def args(self, nr):
        return (torch.randn(3),)

    def run(self, x):
        x.requires_grad_(False)
        y = (x * self.w).tanh().sum()
        (g,) = torch.autograd.grad(y, self.w, create_graph=True)
        return (g * g).sum() + y

    def seen(self):
        return {"grad": self.w.grad}


class OtherDtypes(World):
    def args(self, nr):
        return torch.randn(3, dtype=torch.float64), torch.arange(3), torch.randn(3).bfloat16(), torch.randn(3, dtype=torch.complex64)

    def run(self, a, b, c, d):
        return a * b, b // 2, c * 2.5 + 1, d.conj() * d, a.sum(), b > 1


class Transposed(World):
    """Arguments that do not lie in rows."""

    def args(self, nr):
        return torch.randn(4, 3).t(), torch.randn(6)[::2]

    def run(self, x, y):
        return x * 2 + x.is_contiguous(), (x + y[:, None]).reshape(-1), x.stride()


class Branches(World):
    """Python values decide: each kind of call has a program of its own."""

    programs = 2

    def build(self):
        self.model = nn.Dropout(0.5)

    def args(self, nr):
        (self.model.train if nr % 2 else self.model.eval)()
        return torch.ones(2 + nr % 2, 3), nr % 2 == 0

    def run(self, x, flag):
        return self.model(x) * (2 if flag else 3)


class NoGrad(OfModule):
    def build(self):
        self.model = nn.Linear(4, 2)

    def run(self, x):
        with torch.no_grad():
            y = self.model(x)
        return y, self.model(x)


class Frozen(OfModule):
    def build(self):
        self.model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        self.model[0].requires_grad_(False)


class OfHistory(World):
    """Arguments and closed-over tensors have a history of their own."""

    def build(self):
        self.w = torch.randn(3, requires_grad=True)
        self.h = self.w.exp()

    def args(self, nr):
        self.h = self.w.exp()
        return (self.w * 2,)

    def run(self, x):
        return x * self.h + self.w

    def seen(self):
        return {"grad": self.w.grad}


WORLDS = [Perceptron, Convolutions, Attention, Tied, Rebinding, Hooked, Parametrized, Step, Accumulating, Scheduled,
          Averaged, Functional, WritesToArguments, Views, Nested, Random, CustomFunction, Penalty, OtherDtypes,
          Transposed, Branches, NoGrad, Frozen, OfHistory]


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.__name__)
def test_a_compiled_function_matches_the_function(world):
    compiled = compare(world)
    assert compiled.count == world.programs


def test_a_smaller_last_batch_has_a_program_of_its_own():
    def train(compiled):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = torch.compile(step) if compiled else step
        losses = [step(x) for _ in range(3) for x in torch.randn(10, 3).split(4)]
        return [*losses, *model.state_dict().values()], step

    got, step = train(compiled=True)
    want, _ = train(compiled=False)
    assert step.count == 2
    close(got, want)


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("used", [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]], ids=str)
def test_gradients_reach_what_the_results_that_are_used_depend_on(used, device):
    torch.manual_seed(0)
    layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)]).to(device)

    def forward(x):
        h = layers[0](x)
        h.register_hook(lambda g: g * 2)
        return layers[1](h), layers[2](h.detach()), layers[3](x).tanh() + h.floor()

    compiled = torch.compile(forward)
    x = torch.randn(2, 3).to(device)
    results = []
    for function in (forward, compiled, compiled, compiled):
        layers.zero_grad()
        outputs = function(x)
        sum([outputs[nr].sum() for nr in used]).backward()
        results.append([p.grad for p in layers.parameters()])
    for other in results[1:]:
        close(results[0], other)


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_a_checkpoint_drops_is_computed_again_in_the_program(reentrant):
    def tanhs(checkpoint):
        weights = [torch.full((4, 4), 0.1, requires_grad=True) for _ in range(3)]

        @torch.compile
        def step(x):
            for w in weights:
                x = checkpoint(lambda x, w=w: (x @ w).tanh().exp(), x)
            x.sum().backward()
            grads = [w.grad for w in weights]
            for w in weights:
                w.grad = None
            return grads

        x = torch.ones(5, 4, requires_grad=True)
        for _ in range(2):
            grads = step(x)
        (program,), = step.programs.values()
        return program.partition.forward.executable.as_text().count(" tanh("), grads

    plain, want = tanhs(lambda f, x: f(x))
    again, got = tanhs(lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=reentrant))
    assert plain == 3 < again  # those of which XLA does not see at once that they are the same
    close(got, want)
