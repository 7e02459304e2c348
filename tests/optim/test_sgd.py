"""SGD, the optimizers' base and the normal distribution: the same programs on both libraries."""

import copy
import inspect
import pickle
from collections import OrderedDict

import pytest

import flambeau
from _programs import Programs, differences, raised, warned

programs = Programs("optim_programs.json")
SETTINGS = {
    "plain": {}, "momentum": {"momentum": 0.9}, "damped": {"momentum": 0.9, "dampening": 0.3}, "up": {"maximize": True},
    "nesterov": {"momentum": 0.9, "nesterov": True}, "decay": {"weight_decay": 0.1, "momentum": 0.5},
}


def fit(t, optimizer, w, steps=4):
    x = t.tensor([[1.0, 2.0], [3.0, -1.0]])
    for _ in range(steps):
        optimizer.zero_grad()
        ((x @ w) ** 2).sum().backward()
        optimizer.step()
    return w.detach().clone()


@programs
def settings(t):
    found = {}
    for name, given in SETTINGS.items():
        w = t.tensor([0.5, -0.25], requires_grad=True)
        optimizer = t.optim.SGD([w], lr=0.01, **given)
        found[name] = [fit(t, optimizer, w), optimizer.state_dict(), repr(optimizer)]
    return found


def differentiated(t, lr, weight_decay=0, **settings):
    """Three recorded steps, and the gradients of what comes out by everything that went in."""
    start, direction = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([0.5, -1.0], requires_grad=True)
    p = start.clone()
    optimizer = t.optim.SGD([p], lr=lr, weight_decay=weight_decay, differentiable=True, **settings)
    for i in range(3):
        p.grad = direction * (i + 1)
        optimizer.step()
    tensors = [v for v in (start, direction, lr, weight_decay) if isinstance(v, t.Tensor) and v.requires_grad]
    grads = []
    error = raised(lambda: grads.append(t.autograd.grad((p**2).sum(), tensors)))
    return [error, p, grads]


@programs
def differentiable_settings(t):
    def number(value, **options):
        return t.tensor(value, requires_grad=True, **options)

    return [differentiated(t, number(0.1)), differentiated(t, t.tensor(0.1)), differentiated(t, number([0.1])),
            differentiated(t, number(0.1, dtype=t.float64)), differentiated(t, number(0.1), number(0.2)),
            differentiated(t, 0.1, number(0.2)), differentiated(t, 0.1, t.tensor(0.2)),
            differentiated(t, number(0.1), momentum=0.9, nesterov=True),
            differentiated(t, 0.1, 0.1, momentum=0.9), differentiated(t, number(0.1), maximize=True),
            raised(lambda: differentiated(t, 0.1, fused=True)), raised(lambda: differentiated(t, number(-0.1)))]


@programs
def groups(t):
    a, b = t.ones(2, requires_grad=True), t.ones(1, requires_grad=True)
    optimizer = t.optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    ((a * a).sum() + (b * b).sum()).backward()
    optimizer.step()
    c = t.ones(1, requires_grad=True)
    optimizer.add_param_group({"params": c})
    named = t.optim.SGD([("a", a), ("b", b)], lr=1.0)
    return [a, b, [g["lr"] for g in optimizer.param_groups], named.param_groups[0]["param_names"], repr(optimizer),
            raised(lambda: optimizer.add_param_group({"params": a})), raised(lambda: optimizer.add_param_group([c])),
            raised(lambda: t.optim.SGD([{"params": [a]}, b]))]


@programs
def saved_and_loaded(t):
    w = t.tensor([0.5, -0.25], requires_grad=True)
    first = t.optim.SGD([w], lr=0.01, momentum=0.9)
    fit(t, first, w)
    twin = w.detach().clone().requires_grad_()
    second = t.optim.SGD([twin], lr=1.0)
    second.load_state_dict(first.state_dict())
    other = t.optim.SGD([t.ones(1), t.ones(1)], lr=1.0)
    return [fit(t, first, w), fit(t, second, twin), raised(lambda: other.load_state_dict(first.state_dict()))]


@programs
def closures_and_hooks(t):
    w = t.ones(1, requires_grad=True)
    optimizer = t.optim.SGD([w], lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda o, a, k: seen.append("pre"))
    handle = optimizer.register_step_post_hook(lambda o, a, k: seen.append("post"))
    optimizer.register_state_dict_post_hook(lambda o, s: {**s, "more": 1})

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    handle.remove()
    optimizer.step()
    return [loss.detach(), w, seen, list(optimizer.state_dict()), w.grad_fn is None]


@programs
def signatures(t):
    return [str(inspect.signature(t.optim.SGD.step)), list(inspect.signature(t.optim.SGD).parameters)]


@programs
def clearing(t):
    w = t.ones(1, requires_grad=True)
    optimizer = t.optim.SGD([w], lr=0.1)
    (w * 2).backward()
    held = w.grad
    optimizer.zero_grad(set_to_none=False)
    zeros, same = w.grad.clone(), w.grad is held
    optimizer.zero_grad()
    cleared = w.grad
    w.grad = t.autograd.grad((w * w).sum(), w, create_graph=True)[0]
    optimizer.zero_grad(set_to_none=False)
    return [zeros, same, cleared, w.grad, w.grad.requires_grad]


@programs
def optimizers_around_another_one(t):
    """They take what the other one has, and have no ``__init__`` of Optimizer."""
    class Around(t.optim.Optimizer):
        def __init__(self, base):
            self.base, self.param_groups, self.defaults, self.state = base, base.param_groups, base.defaults, base.state
            self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = OrderedDict(), OrderedDict()

        def step(self, closure=None):
            return self.base.step(closure)

    w = t.ones(1, requires_grad=True)
    optimizer = Around(t.optim.SGD([w], lr=0.5))
    scheduler = t.optim.lr_scheduler.StepLR(optimizer, 1)
    seen = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("post"))
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
        scheduler.step()
    return [w, seen, scheduler.get_last_lr()]


@programs
def what_step_hooks_are_given(t):
    w = t.ones(1, requires_grad=True)
    optimizer = t.optim.SGD([w], lr=0.1)
    seen = []
    first = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append([args[0] is o, len(args), sorted(kwargs)]))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append([args[0] is o, len(args), sorted(kwargs)]))
    optimizer.step()
    optimizer.step(lambda: 1)
    optimizer.step(closure=lambda: 1)
    first.remove()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 5), {}))
    seen.append(optimizer.step())
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    return [seen, raised(optimizer.step)]


@programs
def which_steps_are_hooked(t):
    """The one of the class that is instantiated, wherever it comes from, once."""
    w, seen = t.ones(1, requires_grad=True), []

    class Mixin:
        def step(self, closure=None):
            return "mixin"

    class Mixed(Mixin, t.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

    class Base(t.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        def step(self, closure=None):
            return "base"

    class Derived(Base):
        def step(self, closure=None):
            return "derived " + super().step(closure)

    def stepped(optimizer, name):
        optimizer.register_step_post_hook(lambda *_: seen.append(name))
        return optimizer.step()

    results = [stepped(Mixed([w]), "mixed"), stepped(Derived([w]), "derived")]
    Base.step = lambda self, closure=None: "replaced"
    return [results, stepped(Base([w]), "replaced"), seen, stepped(copy.deepcopy(t.optim.SGD([w])), "copied"), seen]


@programs
def settings_that_older_states_do_not_have(t):
    class Later(t.optim.SGD):
        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("later", 5)

    w = t.ones(1, requires_grad=True)
    optimizer = Later([w], lr=0.1)
    old = {"state": {}, "param_groups": [{"lr": 0.5, "momentum": 0, "dampening": 0, "weight_decay": 0, "params": [0]}]}
    optimizer.load_state_dict(old)
    w.grad = t.ones(1)
    optimizer.step()
    return [optimizer.param_groups[0]["later"], w, repr(optimizer)]


@programs
def names_of_parameters(t):
    def made(*groups):
        optimizer = t.optim.SGD([{"params": group} for group in groups])
        return [group.get("param_names") for group in optimizer.param_groups]

    def w():
        return t.ones(1, requires_grad=True)

    return [made([("a", w()), ("b", w())], [("c", w())]), made([w()], [w()]), raised(lambda: made([("a", w())], [w()])),
            raised(lambda: made([w()], [("a", w())])), raised(lambda: made([("a", w()), w()]))]


@programs
def parameters_given_twice(t):
    w = t.ones(1, requires_grad=True)
    made = []
    told = warned(lambda: made.append(t.optim.SGD([w, w], lr=0.25)))
    (w * 2).sum().backward()
    made[0].step()
    return [told, w, len(made[0].param_groups[0]["params"]), raised(lambda: t.optim.SGD([{"params": [w]}, {"params": [w]}]))]


@programs
def mistakes(t):
    w = t.ones(1, requires_grad=True)
    sgd = t.optim.SGD
    return [raised(lambda: sgd([], lr=1.0)), raised(lambda: sgd([w], lr=-1.0)), raised(lambda: sgd([w], momentum=-1.0)),
            raised(lambda: sgd([w], weight_decay=-1.0)), raised(lambda: sgd([w], nesterov=True)), raised(lambda: sgd(w)),
            raised(lambda: sgd([w * 2])), raised(lambda: sgd([1])), raised(lambda: sgd({w})),
            raised(lambda: t.optim.Optimizer([w], {}).step()), raised(lambda: sgd([("w", w), t.ones(1, requires_grad=True)])),
            raised(lambda: sgd([w, ("w", t.ones(1, requires_grad=True))])), raised(lambda: sgd([w], fused=True, foreach=True)),
            raised(lambda: sgd([w], fused=True, differentiable=True))]


@programs
def normal_distribution(t):
    n = t.distributions.Normal(t.tensor([0.0, 1.0]), t.tensor([1.0, 2.0]))
    t.manual_seed(0)
    loc = t.tensor(1.0, requires_grad=True)
    draw = t.distributions.Normal(loc, 2.0).rsample((3,))
    draw.sum().backward()
    return [n.sample(), n.sample((2,)), n.log_prob(t.tensor([0.5, -1.0])), n.cdf(t.tensor([0.5, 0.5])), n.entropy(),
            n.icdf(t.tensor([0.25, 0.75])), n.mean, n.mode, n.stddev, n.variance, list(n.batch_shape), list(n.event_shape),
            n.expand((3, 2)).sample(), repr(n), repr(t.distributions.Normal(0.0, 1.0)), draw, loc.grad, n.perplexity(),
            raised(lambda: t.distributions.Normal(0.0, -1.0)), raised(lambda: n.log_prob(t.ones(3))),
            raised(lambda: n.log_prob(t.tensor([float("nan"), 0.0]))), raised(lambda: t.distributions.Normal("a", 1.0))]


@pytest.mark.parametrize("name", programs.names())
def test_as_recorded(name):
    assert differences(programs.run(name, flambeau), programs.recorded(name)) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", programs.names())
def test_recording_is_what_torch_does(name):
    torch = pytest.importorskip("torch")
    assert differences(programs.run(name, torch), programs.recorded(name)) == []


def test_the_learning_rate_has_a_gradient_with_momentum_too():
    """PyTorch overwrites the momentum that backward needs, and refuses."""
    def moved(lr):
        p = flambeau.tensor([1.0, 2.0], dtype=flambeau.float64).clone()
        optimizer = flambeau.optim.SGD([p], lr=lr, momentum=0.9, differentiable=True)
        for i in range(3):
            p.grad = flambeau.tensor([0.5, -1.0], dtype=flambeau.float64) * (i + 1)
            optimizer.step()
        return p

    assert flambeau.autograd.gradcheck(moved, flambeau.tensor(0.1, dtype=flambeau.float64, requires_grad=True))


def test_copies_go_on_alike():
    w = flambeau.tensor([0.5, -0.25], requires_grad=True)
    optimizer = flambeau.optim.SGD([w], lr=0.01, momentum=0.9)
    fit(flambeau, optimizer, w)
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        copied = twin.param_groups[0]["params"][0]
        assert copied is not w
        assert twin.state[copied]["momentum_buffer"].tolist() == optimizer.state[w]["momentum_buffer"].tolist()
