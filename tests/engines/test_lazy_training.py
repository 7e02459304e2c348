"""Training programs on a device match the CPU, including ones that could make recorded calls stale.

Each runs several steps: the first of a kind is recorded by general calls, the later ones by known ones.
"""

import copy
import threading

import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax


def small_model(device):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(device)


def data(device):
    torch.manual_seed(1)
    return torch.randn(5, 3).to(device)


def loss_of(model, x):
    return (model(x) - 1).square().mean()


def steps(model, optimizer, x, count=4, between=lambda i: None, loss=loss_of):
    losses = []
    for i in range(count):
        optimizer.zero_grad()
        losses.append(loss(model, x))
        losses[-1].backward()
        between(i)
        optimizer.step()
    return [*losses, *model.parameters()]


# ---- programs: each returns tensors to be compared


def clipping(device):
    model, norms = small_model(device), []
    optimizer = torch.optim.SGD(model.parameters(), 0.5, momentum=0.9)
    clip = lambda i: norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.3))  # noqa: E731
    return steps(model, optimizer, data(device), between=clip) + norms


def gradient_scaler(device):
    model, x = small_model(device), data(device)
    optimizer, scaler = torch.optim.Adam(model.parameters(), 0.01), torch.amp.GradScaler(device, init_scale=8.0, growth_interval=2)
    for i in range(5):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, x) * (torch.inf if i == 2 else 1)).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    return [*model.parameters(), torch.tensor(scaler.get_scale())]


def averages(device):
    model = small_model(device)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.7))
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    out = steps(model, optimizer, data(device), between=lambda i: average.update_parameters(model))
    return out + list(average.parameters())


def tied_weights(device):
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)).to(device)
    torch.manual_seed(0)
    for p in model.parameters():
        p.data = torch.randn(p.shape).to(device)
    model[2].weight = model[0].weight
    return steps(model, torch.optim.AdamW(model.parameters(), 0.1), data(device))


def frozen_for_a_while(device):
    model = small_model(device)

    def thaw(i):
        model[0].requires_grad_(i % 2 == 1)

    return steps(model, torch.optim.SGD(model.parameters(), 0.5), data(device), between=thaw)


def lazy_modules(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(4), nn.Tanh(), nn.LazyLinear(2)).to(device)
    x = data(device)
    model(x)
    torch.manual_seed(0)
    for p in model.parameters():
        p.data = torch.randn(p.shape).to(device)
    return steps(model, torch.optim.SGD(model.parameters(), 0.5), x)


def zeroed_gradients(device):
    model, x = small_model(device), data(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    for i in range(6):
        if i % 3 == 0:
            optimizer.zero_grad(set_to_none=False)
        loss_of(model, x * (i + 1)).backward()
        if i % 3 == 2:
            optimizer.step()
    return [*model.parameters(), *[p.grad for p in model.parameters()]]


def module_hooks(device):
    model, seen = small_model(device), []
    model[0].register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    model[1].register_forward_hook(lambda m, args, out: out + 0.5)
    model[2].register_full_backward_pre_hook(lambda m, g: (g[0] * 3,))
    model[1].register_full_backward_hook(lambda m, g, out: (g[0] * 0.5,))
    model[0].weight.register_hook(lambda g: g + 1)
    model[2].bias.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    return steps(model, torch.optim.SGD(model.parameters(), 0.1), data(device)) + seen


def changing_settings(device):
    model = small_model(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)

    def change(i):
        optimizer.param_groups[0]["lr"] = 0.1 * (i + 1)
        optimizer.param_groups[0]["weight_decay"] = 0.01 * i

    return steps(model, optimizer, data(device), between=change)


def replaced_parameters(device):
    model, x, outs = small_model(device), data(device), []
    for i in range(3):
        outs.append(model(x))
        model[0].weight.data = model[0].weight.data * (i + 2)
        model[2].bias.data.fill_(float(i))
        with torch.no_grad():
            model[0].weight[0] += 1
    return [*outs, model(x)]


def copies(device):
    model, x = small_model(device), data(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    before = copy.deepcopy(model)
    loss_of(model, x).backward()
    pending = [p.grad * 1 for p in model.parameters()]
    optimizer.step()
    state = {name: t.clone() for name, t in model.state_dict().items()}
    steps(model, optimizer, x)
    model.load_state_dict(state)
    return [*before.parameters(), *pending, *model.parameters()]


def written_inputs(device):
    x, outs = data(device), []
    for i in range(3):
        y = x * 2
        x.add_(i)
        view = x[1:, :2]
        x.t()[0] = float(i)
        outs += [y, view.sum(), view * 1]
    return outs


def an_error_in_between(device):
    model, x = small_model(device), data(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)

    def fail(i):
        with pytest.raises(RuntimeError):
            model(x.t())

    return steps(model, optimizer, x, between=fail)


def numbers_that_decide(device):
    x = data(device)
    return [(x ** p).abs() for p in (2.0, 3.0, 1.0, 0.5)] + [x.clamp(a, b) for a, b in ((-0.5, 0.5), (0.0, 0.1))] \
        + [nn.functional.leaky_relu(x, slope) for slope in (0.1, 0.2, 0.0)] + [torch.round(x, decimals=n) for n in (0, 1)]


PROGRAMS = [clipping, gradient_scaler, averages, tied_weights, frozen_for_a_while, lazy_modules, zeroed_gradients,
            module_hooks, changing_settings, replaced_parameters, copies, written_inputs, an_error_in_between,
            numbers_that_decide]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_on_the_cpu(program):
    got, want = program("xla"), program("cpu")
    torch.testing.assert_close([t.cpu() for t in got], want, rtol=2e-5, atol=1e-6, equal_nan=True)


def test_numbers_of_a_call_that_returns_its_input():
    from flambeau.engines.xla.lazy import record

    x = torch.ones(2, device="xla")
    for _ in range(2):
        assert record(lambda a, number: a, (x._a, 5.0), {}) is x._a
        assert (x * 3.0 + 0.5).tolist() == [3.5, 3.5]


def test_threads_record_without_mixing():
    found = {}

    def work(i):
        x = torch.full((3,), float(i)).to("xla")
        for _ in range(20):
            x = x + 1
        found[i] = x.tolist()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: [20.0 + i] * 3 for i in range(4)}


@pytest.mark.parametrize("way", ["lazy", "compiled"])
def test_state_stays_where_it_is(way):
    """What replaces a parameter, or a state of the optimizer, takes its memory: another's would need copies of both."""
    from flambeau.engines.xla import engine

    model, x = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).to("xla"), torch.ones(3, 4, device="xla")
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad()
        loss_of(model, x).backward()
        optimizer.step()

    step = torch.compile(step) if way == "compiled" else step

    def addresses():
        step()
        states = [s[name] for s in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
        return [engine.concrete(t._a).unsafe_buffer_pointer() for t in [*model.parameters(), *states]]

    for _ in range(3):  # the first steps find nothing to write over, or others that hold it
        addresses()
    assert addresses() == addresses()
