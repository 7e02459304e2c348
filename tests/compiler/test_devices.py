"""Compiled steps on a device match eager ones on the CPU, and never donate memory that is still needed."""

import copy
import weakref

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


class Training:
    """A model, an optimizer and a step, on a device. The first step runs eagerly on the CPU."""

    def __init__(self, device, make=torch.optim.SGD, compiled=True, body=None, **settings):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))
        self.optimizer = make(self.model.parameters(), **settings)
        self.x, self.y = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 1, 0])
        body = body or self.body
        self.step = torch.compile(lambda x, y: body(self, x, y)) if compiled else lambda x, y: body(self, x, y)
        self.step(self.x, self.y)
        if device != "cpu":
            self.move(device)

    def move(self, device):
        self.model.to(device)
        state = self.optimizer.state_dict()
        self.optimizer.load_state_dict(state)  # which puts it beside the parameters
        self.x, self.y = self.x.to(device), self.y.to(device)

    @staticmethod
    def body(self, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def run(self, steps=3):
        return [self.step(self.x, self.y) for _ in range(steps)]

    def state(self):
        tensors = [*self.model.state_dict().values()]
        tensors += [v for own in self.optimizer.state.values() for v in own.values() if isinstance(v, torch.Tensor)]
        return [t.detach().cpu().clone() for t in tensors]


def compare(make=torch.optim.SGD, body=None, steps=3, **settings):
    ours, plain = Training("xla", make, True, body, **settings), Training("cpu", make, False, body, **settings)
    losses = [x.cpu() for x in ours.run(steps)]
    for a, b in zip(losses + ours.state(), plain.run(steps) + plain.state(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert {p.device.type for p in ours.model.parameters()} == {"xla"}
    return ours


OPTIMIZERS = [
    (torch.optim.SGD, dict(lr=0.1, momentum=0.9)), (torch.optim.Adam, dict(lr=0.01, amsgrad=True)),
    (torch.optim.AdamW, dict(lr=0.01)), (torch.optim.NAdam, dict(lr=0.01)), (torch.optim.RMSprop, dict(lr=0.01)),
    (torch.optim.Adagrad, dict(lr=0.01)), (torch.optim.ASGD, dict(lr=0.01)), (torch.optim.RAdam, dict(lr=0.01)),
    (torch.optim.Adadelta, dict()), (torch.optim.Adamax, dict(lr=0.01)), (torch.optim.Rprop, dict(lr=0.01)),
    (torch.optim.Adafactor, dict(lr=0.01)),
]


@pytest.mark.parametrize("make, settings", OPTIMIZERS, ids=[make.__name__ for make, _ in OPTIMIZERS])
def test_optimizers(make, settings):
    training = compare(make, **settings)
    assert training.step.count == 1


def clipped(self, x, y):
    self.optimizer.zero_grad()
    loss = F.cross_entropy(self.model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
    self.optimizer.step()
    return loss.detach()


def accumulated(self, x, y):
    for part in (slice(0, 3), slice(3, 6)):
        (F.cross_entropy(self.model(x[part]), y[part]) / 2).backward()
    self.optimizer.step()
    norm = sum([p.grad.square().sum() for p in self.model.parameters()])
    self.optimizer.zero_grad()
    return norm.detach()


def penalized(self, x, y):
    self.optimizer.zero_grad()
    x = x.clone().requires_grad_()
    loss = F.cross_entropy(self.model(x), y)
    slope, = torch.autograd.grad(loss, x, create_graph=True)
    (loss + slope.square().sum()).backward()
    self.optimizer.step()
    return loss.detach()


def frozen_in_part(self, x, y):
    self.optimizer.zero_grad()
    with torch.no_grad():
        x = self.model[:2](x)
    loss = F.cross_entropy(self.model[2:](x), y)
    loss.backward()
    self.optimizer.step()
    return loss.detach()


def written_in_place(self, x, y):
    with torch.no_grad():
        self.model[3].weight[0].mul_(0.5)
        self.model[3].bias.copy_(self.model[3].weight.sum(1))
    return self.model(x).sum().detach()


@pytest.mark.parametrize("body", [clipped, accumulated, penalized, frozen_in_part, written_in_place],
                         ids=lambda body: body.__name__)
def test_steps(body):
    compare(body=body, lr=0.1)


# ---- what somebody else holds


def test_clones_views_and_saved_state_stay_as_they_are():
    training = Training("xla", lr=0.1)
    training.run(2)
    weight = training.model[0].weight
    copies = [weight.clone(), copy.deepcopy(training.model)[0].weight, weight.detach() * 1]
    view, alias = weight[0], weight.detach()
    before = [c.tolist() for c in copies]
    training.run(2)
    assert [c.tolist() for c in copies] == before and weight.tolist() != before[0]
    assert view.tolist() == weight[0].tolist() and alias.tolist() == weight.tolist()


def test_programs_take_the_memory_of_state_from_their_first_run_on(monkeypatch):
    from flambeau.engines.xla import state

    device = torch.device("xla")
    model = nn.Linear(3, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters())

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    copies = []
    monkeypatch.setattr(state.jnp, "copy", copies.append)
    x = torch.ones(4, 3, device=device)
    step(x)
    before = [weakref.ref(p.grad) for p in model.parameters()]
    step(x)
    step(x)
    assert step.count == 1
    assert not copies
    assert [gradient() for gradient in before] == [None, None]


def test_what_is_saved_for_backward_outside():
    training = Training("xla", lr=0.1)
    training.run(2)
    weight = training.model[0].weight
    outside = (weight.detach().clone().requires_grad_() * weight.detach()).sum()
    expected = weight.detach().cpu().clone()
    leaf = outside.grad_fn.next_functions[0][0].next_functions[0][0].variable
    training.run(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        outside.backward()
    assert leaf.cpu().tolist() == expected.tolist()


def test_writes_between_calls_are_seen():
    ours, plain = Training("xla", lr=0.1), Training("cpu", compiled=False, lr=0.1)
    for training in (ours, plain):
        training.run(2)
        with torch.no_grad():
            training.model[0].weight.mul_(2)
            training.model[3].bias.data = torch.ones(2, device=training.x.device)
        training.run(1)
        training.model.load_state_dict({k: v * 0.5 for k, v in training.model.state_dict().items()})
        training.run(1)
    for a, b in zip(ours.state(), plain.state(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_two_devices_are_refused():
    double = torch.compile(lambda x, y: (x * 2, y * 2))
    double(torch.ones(2), torch.ones(2))
    a, b = double(torch.ones(2, device="xla"), torch.ones(2))
    assert (a.device.type, b.device.type) == ("xla", "cpu") and b.tolist() == [2, 2]
    added = torch.compile(lambda x, y: x + y)
    added(torch.ones(2), torch.ones(2))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        added(torch.ones(2, device="xla"), torch.ones(2))


def test_an_index_out_of_bounds_is_reported_when_elements_are_read():
    pick = torch.compile(lambda x, i: x[i] * 2)
    x = torch.arange(3.0, device="xla")
    for _ in range(2):
        assert pick(x, torch.tensor([1], device="xla")).tolist() == [2]
    with pytest.raises(IndexError, match="7 is out of bounds"):
        pick(x, torch.tensor([7], device="xla")).tolist()


def spoil(run):
    """Runs a compiled function with elements that are found to be wrong only later."""
    for _ in range(2):
        run(torch.ones(2, device="xla"))
    return run(torch.ones(2, device="xla")[torch.tensor([0, 9], device="xla")])


def test_errors_before_a_program_are_reported_when_its_results_are_read():
    with pytest.raises(IndexError, match="9 is out of bounds"):
        spoil(torch.compile(lambda x: x.sum())).item()


def test_errors_before_a_program_spoil_what_it_writes_to():
    total = torch.zeros(2, device="xla")
    with pytest.raises(IndexError, match="9 is out of bounds"):
        spoil(torch.compile(total.add_)).tolist()
    with pytest.raises(RuntimeError, match="cannot be read"):
        total.tolist()


def test_errors_before_a_program_spoil_gradients():
    weight = torch.ones(2, device="xla", requires_grad=True)
    with pytest.raises(IndexError, match="9 is out of bounds"):
        spoil(torch.compile(lambda x: (x * weight).sum())).backward()
        weight.grad.tolist()


def test_errors_before_a_program_come_before_its_results_on_the_cpu_are_used():
    total = torch.zeros(())
    with pytest.raises(IndexError, match="9 is out of bounds"):
        spoil(torch.compile(lambda x: total.copy_(x.sum())))


def test_numbers_on_the_cpu_are_computed_with_floats_from_outside():
    settings, count, total = {"rate": 0.5}, torch.tensor(0.0), torch.zeros(2, device="xla")

    @torch.compile
    def step(x):
        count.add_(settings["rate"])
        total.add_(x)

    for _ in range(4):
        step(torch.ones(2, device="xla"))
        settings["rate"] += 0.25
    assert (count.item(), total.tolist(), step.count) == (3.5, [4, 4], 1)


def test_moves_inside_of_a_program():
    moved = torch.compile(lambda x: ((x.to("xla") * 2).cpu() + 1, x.to("xla")))
    for _ in range(3):
        back, there = moved(torch.ones(2).to("xla"))
        assert back.device.type == "cpu" and back.tolist() == [3, 3] and there.device.type == "xla"


CREATORS = {
    "zeros": lambda x: torch.zeros(2, device="xla"),
    "arange": lambda x: torch.arange(2, device="xla"),
    "randn": lambda x: torch.randn(2, device="xla"),
    "to": lambda x: x.to("xla") * 2,
    "to and back": lambda x: (x.to("xla") * 2).cpu(),
    "both": lambda x: (torch.zeros(2, device="xla"), x + 1),
}


@pytest.mark.parametrize("create", CREATORS.values(), ids=CREATORS)
def test_what_is_created_on_a_device_is_there(create):
    function = torch.compile(create)
    devices = [[t.device for t in tensors_in(function(torch.ones(2)))] for _ in range(3)]
    assert devices[1:] == devices[:1] * 2


def tensors_in(result):
    return result if isinstance(result, tuple) else (result,)


DRAWS = {
    "randn": lambda x, g, p: torch.randn(3, device="xla", generator=g),
    "randint": lambda x, g, p: torch.randint(9, (3,), device="xla", generator=g),
    "randperm": lambda x, g, p: torch.randperm(5, device="xla", generator=g),
    "rand_like": lambda x, g, p: torch.rand_like(x),
    "bernoulli_": lambda x, g, p: torch.empty_like(x).bernoulli_(p["p"], generator=g),
    "normal_": lambda x, g, p: torch.empty_like(x).normal_(0, p["p"], generator=g),
    "dropout": lambda x, g, p: F.dropout(x, p["p"]),
}


@pytest.mark.parametrize("own", [False, True], ids=["global", "own"])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_seed_gives_the_same_numbers_compiled_or_not(draw, own):
    def numbers(decorate):
        torch.manual_seed(1)
        generator = torch.Generator("xla").manual_seed(2) if own else None
        settings, x = {"p": 0.25}, torch.ones(3, device="xla")
        function, found = decorate(lambda: draw(x, generator, settings)), []
        for _ in range(3):
            found += function().tolist()
            settings["p"] += 0.125
        return found

    assert numbers(torch.compile) == pytest.approx(numbers(lambda function: function))


def test_zeros_in_constants_keep_their_signs():
    divide = torch.compile(lambda x: x / torch.tensor([0.0, -0.0]).to("xla"))
    results = [divide(torch.ones(2, device="xla")).tolist() for _ in range(2)]
    assert results == [[float("inf"), float("-inf")]] * 2


def test_dropout_draws_anew_and_repeats_with_the_seed():
    drop = nn.Dropout(0.25)
    drop.compile()
    x = torch.ones(4000, device="xla")
    drop(x)
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(drop(x))
    assert torch.equal(results[0], results[1]) and not torch.equal(results[1], results[2])
    assert abs((results[0] == 0).float().mean().item() - 0.25) < 0.03
    torch.manual_seed(1)
    assert torch.equal(nn.functional.dropout(x, 0.25), results[0])  # as lazily


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.drop, self.down = nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 4)

    def forward(self, x):
        return x + self.down(self.drop(torch.tanh(self.up(x))))


def as_evaluated(segment):
    """The equations of a program as jax gets to see them."""
    import jax

    structs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in segment.jaxpr.invars]
    return jax.make_jaxpr(lambda *arrays: jax.core.eval_jaxpr(segment.jaxpr, segment.consts, *arrays))(*structs).jaxpr


def names_of_primitives(jaxpr):
    """Of all equations, also of those in the functions that they call."""
    for e in jaxpr.eqns:
        called = getattr(e.params.get("jaxpr"), "jaxpr", None)
        yield from [e.primitive.name] if called is None else names_of_primitives(called)


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_compute_again_with_the_same_random_numbers(device, reentrant):
    def losses(checkpoint):
        torch.manual_seed(0)
        blocks = nn.ModuleList([Block(), Block()])
        optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)

        @torch.compile
        def step(x):
            optimizer.zero_grad()
            for block in blocks:
                x = checkpoint(block, x)
            loss = x.square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        x = torch.randn(8, 4, requires_grad=True)
        found = [step(x)]
        blocks.to(device)
        x = x.detach().to(device).requires_grad_()
        found += [step(x) for _ in range(3)]
        program = next(iter(step.programs.values()))[0]
        names = list(names_of_primitives(as_evaluated(program.partition.forward)))
        return [loss.item() for loss in found], names.count("tanh"), names.count("optimization_barrier")

    again = losses(lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=reentrant))
    plain = losses(lambda f, x: f(x))
    assert again[0] == pytest.approx(plain[0], rel=1e-5)
    assert (plain[1:], again[1:]) == ((2, 0), (4, 2))


def test_numbers_that_the_host_computes_share_no_memory():
    x, a, b, count = torch.ones(2, device="xla"), torch.tensor(1.0), torch.tensor(2.0), torch.tensor(0.0)

    @torch.compile
    def step(x):
        first, second = a.clone(), b.clone()
        a.copy_(second)
        b.copy_(first)
        count.add_(1)
        return x * 2, count.clone(), count.clone(), count.reshape(()).clone()

    for nr in range(1, 5):
        _, *found = step(x)
        found[0].add_(10)
        assert [t.item() for t in (*found, count)] == [nr + 10, nr, nr, nr]
        assert [a.item(), b.item()] == [2, 1] if nr % 2 else [1, 2]
    assert step.count == 1
    assert next(iter(step.programs.values()))[0].partition.host is not None


def test_read_only_memory_is_reported_before_any_change():
    x, count = torch.ones(2, device="xla"), torch.zeros(())

    @torch.compile
    def step():
        x.add_(1)
        count.add_(1)

    for _ in range(3):
        step()
    count._a.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        step()
    assert x.tolist() == [4, 4] and count.item() == 3


# ---- gradients that somebody holds


def grads_of(training):
    return [p.grad for p in training.model.parameters()]


@pytest.mark.parametrize("hold", [
    lambda grad: grad,
    lambda grad: grad.detach(),
    lambda grad: grad.view(-1),
    lambda grad: grad.data,
], ids=["itself", "detached", "a view", "its data"])
def test_referenced_gradients_are_not_overwritten(hold):
    training = Training("xla", lr=0.1)
    training.run()
    held = [hold(grad) for grad in grads_of(training)]
    before = [h.cpu().clone() for h in held]
    training.run()
    assert [torch.equal(h.cpu(), b) for h, b in zip(held, before, strict=True)] == [True] * len(held)
    assert not any([torch.equal(h.reshape(-1), g.reshape(-1)) for h, g in zip(held, grads_of(training), strict=True)])


def test_gradients_are_new_tensors():
    training = Training("xla", lr=0.1)
    training.run()
    first, seen = grads_of(training)[0], [weakref.ref(grad) for grad in grads_of(training)[1:]]
    for nr, grad in enumerate(grads_of(training)):
        grad.mul_(2)
        grad.number = nr
    del grad
    assert {grad._version for grad in grads_of(training)} == {1}
    training.run(1)
    assert [ref() for ref in seen] == [None] * len(seen)
    assert grads_of(training)[0] is not first
    for grad in grads_of(training):
        assert (grad._version, vars(grad), grad.requires_grad, grad.grad_fn) == (0, {}, False, None)


@pytest.mark.parametrize("change", [
    lambda grad: grad.requires_grad_(),
    lambda grad: grad.requires_grad_().register_hook(lambda g: g),
    lambda grad: setattr(grad, "grad", torch.ones_like(grad)),
], ids=["requires a gradient", "hook", "gradient of its own"])
def test_what_old_gradients_had_is_not_on_new_ones(change):
    training, plain = Training("xla", lr=0.1), Training("xla", lr=0.1)
    training.run()
    plain.run()
    for grad in grads_of(training):
        change(grad)
    del grad
    training.run(2)
    plain.run(2)
    for a, b in zip(grads_of(training), grads_of(plain), strict=True):
        assert (a.requires_grad, a._backward_hooks, a.grad) == (False, None, None)
        assert torch.equal(a, b)


def test_gradients_with_unknown_references_are_not_reused(monkeypatch):
    from flambeau import _tensor

    training, plain = Training("xla", lr=0.1), Training("xla", lr=0.1)
    plain.run(4)
    monkeypatch.setattr(_tensor, "unheld", lambda objects, count: [])
    training.run(4)
    assert [torch.equal(a, b) for a, b in zip(grads_of(training), grads_of(plain))] == [True] * len(grads_of(plain))


def test_steps_that_differ_need_another_program():
    """Counts of steps that were equal are one number in a program."""
    training = Training("xla", torch.optim.Adam, lr=0.1)
    training.run(3)
    count = training.step.count
    next(iter(training.optimizer.state.values()))["step"] += 5
    training.run(2)
    assert training.step.count == count + 1
    assert [int(s["step"]) for s in training.optimizer.state.values()][:2] == [11, 6]
