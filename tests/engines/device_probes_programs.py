"""Foot-guns of shapes, devices, random numbers and threads on a device."""

import threading
import weakref
from importlib import import_module

import numpy as np

import flambeau
from engines.device_probes import arange, error_of, probe

# ---- shapes that depend on elements


@probe
def shapes_that_depend_on_elements(torch, device):
    x = arange(torch, device, 2, 3) - 2
    i = x.nonzero()
    x[0] = 0
    return i, x.nonzero(as_tuple=True), x[x != 0], torch.masked_select(x, x > 1), x.unique(return_counts=True)


@probe
def gradients_through_masks(torch, device):
    x = (arange(torch, device, 5) - 2).requires_grad_()
    y = x[x > 0].exp().sum() + torch.masked_select(x, x < 0).square().sum() + x.clamp(min=0)[x.nonzero()[:, 0]].sum()
    y.backward()
    return y, x.grad


@probe
def repeats_by_counts(torch, device):
    x, n = arange(torch, device, 3), torch.tensor([0, 2, 1], device=device)
    y = torch.repeat_interleave(x, n)
    n += 1
    return y, torch.repeat_interleave(x, n), torch.bincount(n), n.max().item()


@probe
def items_as_sizes_and_indices(torch, device):
    n = torch.tensor(2, device=device)
    x = arange(torch, device, 4)
    y = [x[n], x[:n], torch.zeros(n.item(), device=device), [10, 20, 30][n], x.narrow(0, 1, n.item()), range(n)[-1]]
    n += 1
    return *y, x[n]


@probe
def branches_on_pending_elements(torch, device):
    x, steps = torch.tensor(100.0, device=device), 0
    while x > 1:
        x = x / 3 if int(x) % 2 else x - 1
        steps += 1
    return steps, x, bool(x == x), torch.equal(x, x.clone()), torch.allclose(x, x + 1)


@probe
def printed_and_formatted(torch, device):
    x = torch.tensor([1.5, 2.5], device=device)
    text = f"{x.sum():.2f} {x[0]:5.1f} {x[1].item()!r} {x.tolist()}"
    x.zero_()
    return text, f"{x.sum():.1f}", str(x.cpu())


@probe
def sorted_and_compared(torch, device):
    x = torch.tensor([2.0, 0.0, 1.0], device=device)
    values, order = x.sort()
    x.sub_(5)
    return values, order, sorted(x.tolist()), max(x), min(x, key=float), x.argmin() in torch.tensor([1], device=device), 2.0 in values


# ---- devices that do not match


@probe
def tensors_of_another_device_with_one_element(torch, device):
    x, number = arange(torch, device, 3), torch.tensor(2.0)
    y = x * number + number
    number.add_(1)
    x.fill_(number)
    return y, x, (number * x).device == x.device, x[torch.tensor([0])]


@probe
def defaults_of_devices(torch, device):
    with torch.device(device):
        model, x = torch.nn.Linear(2, 1), torch.ones(2)
        inner = torch.ones(2, device="cpu")
        listed = torch.tensor([1, 2])
    torch.set_default_device(device)
    try:
        y, key = torch.zeros(3) + 1, torch.get_default_device().type
        loaded = torch.as_tensor(np.ones(2))
    finally:
        torch.set_default_device(None)
    kinds = [t.device.type == torch.device(device).type for t in (model.weight, x, listed, y, loaded)]
    return kinds, inner.device.type, key == torch.device(device).type, torch.ones(1).device.type


@probe
def likes_and_news_stay_on_the_device(torch, device):
    x = arange(torch, device, 3)
    made = [torch.zeros_like(x), x.new_ones(2), x.new_tensor([1, 2]), x.new_full((2,), 3), torch.empty_like(x).fill_(1),
            torch.full_like(x, 2), torch.randn_like(x) * 0, torch.nn.functional.one_hot(x.long(), 3)]
    return [t.device == x.device for t in made], made


# ---- random numbers


@probe
def states_of_generators(torch, device):
    g = torch.Generator(device).manual_seed(5)
    a = torch.rand(3, generator=g, device=device)
    state = g.get_state()
    b, c = torch.rand(3, generator=g, device=device), torch.rand(3, generator=g, device=device)
    g.set_state(state)
    d, e = torch.rand(3, generator=g, device=device), torch.rand(3, generator=g, device=device)
    g.manual_seed(5)
    f = torch.rand(3, generator=g, device=device)
    return torch.equal(a, f), torch.equal(b, d), torch.equal(c, e), torch.equal(b, c), g.initial_seed()


@probe
def seeds_repeat(torch, device):
    def draws():
        x = torch.ones(50, device=device)
        return [torch.rand(4, device=device), torch.randn(3, device=device), torch.randint(9, (20,), device=device),
                torch.randperm(20, device=device), torch.nn.functional.dropout(x), torch.bernoulli(x / 2), x.clone().normal_(),
                torch.multinomial(x, 5), x.clone().uniform_(), x.clone().exponential_(), torch.normal(x, x),
                torch.svd_lowrank(torch.arange(48.0, device=device).sin().view(8, 6), 2)[1]]

    torch.manual_seed(3)
    first = draws()
    other = draws()
    torch.manual_seed(3)
    again = draws()
    return ([torch.equal(a, b) for a, b in zip(first, again, strict=True)],
            [torch.equal(a, b) for a, b in zip(first, other, strict=True)])


@probe
def forked_states(torch, device):
    torch.manual_seed(1)
    x = torch.ones(20, device=device)
    with torch.random.fork_rng():
        a = torch.nn.functional.dropout(x)
        torch.manual_seed(9)
    b = torch.nn.functional.dropout(x)
    return torch.equal(a, b)


@probe
def draws_that_nobody_reads_advance_the_state(torch, device):
    torch.manual_seed(1)
    torch.rand(4, device=device)
    a = torch.rand(4, device=device)
    torch.manual_seed(1)
    b, c = torch.rand(4, device=device), torch.rand(4, device=device)
    return torch.equal(a, c), torch.equal(a, b)


# ---- threads, memory, and the rest


@probe
def threads_that_share_parameters(torch, device):
    p, results = torch.ones(3, device=device, requires_grad=True), {}

    def work(i):
        results[i] = torch.autograd.grad((p * i).sum(), p)[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [results[i] for i in range(4)]


@probe
def a_thread_reads_what_another_has_recorded(torch, device):
    x, found = arange(torch, device, 3) * 2, []
    x += 1
    t = threading.Thread(target=lambda: found.append(x.tolist()))
    t.start()
    t.join()
    return found, x


@probe
def tensors_are_freed(torch, device):
    x = arange(torch, device, 3)
    y = x * 2
    gone = weakref.ref(y)
    z = y + 1
    del y
    return gone() is None, z


@probe
def batches_of_a_loader(torch, device):
    data = import_module(f"{torch.__name__}.utils.data")
    loader = data.DataLoader(data.TensorDataset(torch.arange(10.0), torch.arange(10)), batch_size=4)
    total, seen = torch.zeros((), device=device), []
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        total += (x * y).sum()
        seen.append(x)
    return total, seen


@probe
def a_buffer_that_is_refilled_by_batches(torch, device):
    host, moved = torch.empty(3), []
    for i in range(4):
        host.fill_(i)
        moved.append(host.to(device, non_blocking=True) * 2)
    return moved


@probe
def a_history_of_states(torch, device):
    h, history = torch.zeros(2, device=device), []
    for i in range(5):
        h = torch.tanh(h + i / 10)
        history.append(h)
    h.zero_()
    return history


@probe
def lists_of_python_numbers(torch, device):
    x = torch.tensor([1.5, 2.5], device=device)
    return torch.tensor([x[0], x[1].item()]), float(x[0]), int(x[1]), complex(x[0]), [*x], len(x), x.sum().item().is_integer()


@probe
def half_precision_sums(torch, device):
    x = torch.full((4096,), 0.1, dtype=torch.float16, device=device)
    return abs(x.sum().item() - 409.5) < 2, abs(x.mean().float().item() - 0.1) < 1e-3, x.cumsum(0)[-1].item() > 400


@probe
def integers_overflow_as_on_the_cpu(torch, device):
    x = torch.tensor([120, -120], dtype=torch.int8, device=device)
    y = torch.tensor([2**62, -(2**62)], device=device)
    return x + 100, y * 4, y + y, torch.tensor([7, -7], device=device) // 2, torch.tensor([7, -7], device=device) % 3, x >> 1


@probe
def divisions_by_zero(torch, device):
    x = torch.tensor([1.0, 0.0, -1.0], device=device)
    return x / 0, x // 0, x % 0, torch.fmod(x, 0), x.log(), x.sqrt(), (x / 0).to(torch.float16), x.reciprocal()


@probe
def empty_tensors(torch, device):
    x = torch.empty(0, 3, device=device)
    return (x.sum(), x.sum(0), x.prod(), error_of(lambda: x.max()), x.mean(), torch.cat([x, torch.ones(1, 3, device=device)]),
            x.nonzero(), x @ torch.ones(3, 2, device=device), error_of(lambda: x.argmax(0)))


@probe
def functional_calls(torch, device):
    model = torch.nn.Linear(2, 1).to(device)
    torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
    params = {k: v.detach() * 2 for k, v in model.named_parameters()}
    out = torch.func.functional_call(model, params, (torch.ones(1, 2, device=device),))
    grads = torch.func.grad(lambda q: torch.func.functional_call(model, q, (torch.ones(1, 2, device=device),)).sum())(params)
    return out, grads["weight"], model.weight


@probe
def compiled_with_a_partial_batch(torch, device):
    model = torch.nn.Linear(2, 1).to(device)
    torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    if torch is flambeau:
        step = torch.compile(step)
    data = arange(torch, device, 7, 2) / 10
    return [step(data[i : i + 3]) for _ in range(3) for i in (0, 3, 6)], model.weight


@probe
def compiled_loops_of_batches(torch, device):
    w = torch.ones(2, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (w * x).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    batches = list(arange(torch, device, 5, 2) / 10)
    if torch is not flambeau:
        return torch.stack([step(x) for _ in range(3) for x in batches]), w
    step = torch.compile(step)
    return torch.cat([step.loop(torch.stack(batches)) for _ in range(3)]), w
