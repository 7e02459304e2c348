"""Tensors on XLA devices: placement, moves, and views and writes that behave as on the CPU."""

import copy
import io
import os
import pickle
import subprocess
import sys

import pytest

import flambeau as torch
from flambeau.engines._views import ViewArray

pytestmark = pytest.mark.jax


def on_xla(*shape, requires_grad=False):
    count = 1
    for n in shape:
        count *= n
    return torch.arange(float(count)).view(*shape).to("xla").requires_grad_(requires_grad)


# ---- devices


def test_a_device_has_an_index():
    x = on_xla(3)
    assert x.device == torch.device("xla", 0) and str(x.device) == "xla:0"
    assert (x + 1).device == x[1:].device == x.detach().device == torch.zeros_like(x).device == x.device
    assert torch.ones(2, device="xla:0").device == x.device


def test_a_device_that_is_not_there():
    with pytest.raises(RuntimeError, match="no device xla:99"):
        torch.ones(2, device="xla:99")


def test_to_keeps_the_graph():
    x = torch.arange(3.0, requires_grad=True)
    y = x.to("xla")
    assert y.grad_fn.name() == "ToCopyBackward0" and y.requires_grad
    (y * y).sum().backward()
    assert x.grad.tolist() == [0, 2, 4] and x.grad.device.type == "cpu"
    z = on_xla(3, requires_grad=True)
    (z.cpu() * 3).sum().backward()
    assert z.grad.tolist() == [3, 3, 3] and z.grad.device == z.device


def test_moves_can_be_differentiated_twice():
    x = torch.arange(1.0, 4.0, requires_grad=True)
    slope, = torch.autograd.grad((x.to("xla") ** 3).sum(), x, create_graph=True)
    assert torch.autograd.grad(slope.sum(), x)[0].tolist() == [6, 12, 18]


@pytest.mark.parametrize("source, target", [("cpu", "xla"), ("xla", "cpu")])
def test_copy_across_devices(source, target):
    x = torch.arange(6.0).view(2, 3).to(source).requires_grad_()
    y = torch.zeros(3, 2, device=target)
    y.t().copy_(x)
    assert y.tolist() == [[0, 3], [1, 4], [2, 5]] and y.device.type == target
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1]] * 2
    z = torch.zeros(2, 3, dtype=torch.int64, device=target)
    z.copy_(x.detach())
    assert z.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("call", [
    lambda a, b: a + b, lambda a, b: b * a, lambda a, b: torch.cat([a, b]), lambda a, b: torch.where(a > 0, a, b),
    lambda a, b: a.add_(b), lambda a, b: torch.add(a, a, out=b), lambda a, b: torch.addcmul(a, a, b),
    lambda a, b: a @ b, lambda a, b: torch.nn.functional.linear(a, b.view(1, 3)),
])
def test_tensors_of_two_devices_are_refused(call):
    a, b = on_xla(3), torch.ones(3)
    for x, y in ((a, b), (b, a)):
        with pytest.raises(RuntimeError, match=r"xla:0.*cpu|cpu.*xla:0"):
            call(x, y)
    assert a.tolist() == [0, 1, 2] and b.tolist() == [1, 1, 1]


def test_a_module_names_the_parameters_of_another_device():
    model = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Sequential(torch.nn.Linear(3, 2)))
    with pytest.raises(RuntimeError, match="found at least two devices") as caught:
        model(on_xla(3))
    assert "in Sequential.1.0 = Linear" in caught.value.__notes__[-1]
    assert caught.value.__notes__[-1].endswith("; input on xla:0, weight, bias on cpu")


SEVERAL = """
import flambeau as torch

x = torch.arange(3.0, device="xla:2")
y = x.to("xla:1") * 2
model = torch.nn.Linear(3, 2, device="xla:1")
model(y).sum().backward()
torch.optim.SGD(model.parameters(), 0.1).step()
z = (x + 1).to("xla:3") - 1
print(x.device, y.device, model.weight.grad.device, y.tolist(), z.device, torch.equal(z.cpu(), x.cpu()))
for tensors in ((x, y), (y, x), (x, torch.ones(3))):
    try:
        tensors[0] + tensors[1]
    except RuntimeError as error:
        print(str(error).partition("two devices, ")[2].partition(":add")[0].partition(": add")[0])
try:
    torch.ones(1, device="xla:4")
except RuntimeError as error:
    print("there is no device xla:4" in str(error))
print([(torch.ones(3, device=f"xla:{i}") * 2 - 1).sum().item() for i in (0, 1, 0, 3)])
"""


def test_several_devices_of_the_host():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", SEVERAL], env=environment, capture_output=True, text=True, timeout=240)
    assert done.stdout.splitlines() == [
        "xla:2 xla:1 xla:1 [0.0, 2.0, 4.0] xla:3 True", "xla:2 and xla:1", "xla:1 and xla:2", "xla:2 and cpu", "True",
        "[3.0, 3.0, 3.0, 3.0]",
    ], done.stderr


def test_numbers_and_indices_may_come_from_the_cpu():
    x = on_xla(3)
    assert (x + torch.tensor(1.0)).tolist() == [1, 2, 3]
    assert (torch.tensor(2.0) * x).device == x.device
    assert x[torch.tensor([2, 0])].tolist() == [2, 0]


# ---- what must not go wrong silently


@pytest.mark.parametrize("call", [
    lambda x: x[torch.tensor([5]).to("xla")], lambda x: x[torch.tensor([-4])], lambda x: x.index_select(0, torch.tensor([3]).to("xla")),
    lambda x: x.gather(0, torch.tensor([7]).to("xla")), lambda x: x.take(torch.tensor([3]).to("xla")), lambda x: x[7],
    lambda x: x.index_add(0, torch.tensor([9]).to("xla"), torch.ones(1).to("xla")),
    lambda x: x.scatter(0, torch.tensor([4]).to("xla"), 1.0),
])
def test_an_index_out_of_range_is_an_error(call):
    with pytest.raises((IndexError, RuntimeError), match=r"out of (bounds|range)"):
        call(on_xla(3)).tolist()


def test_a_compiled_function_does_not_take_a_tensor_of_another_device_for_a_constant():
    x = on_xla(3)
    moved = torch.compile(lambda y: x.cpu() + y)
    for i in range(3):
        assert moved(torch.ones(3)).tolist() == [1 + 10 * i, 2 + 10 * i, 3 + 10 * i]
        x.add_(10)


# ---- views and writes


def through_slice(x):
    x[1:] += 2


def through_select_of_transpose(x):
    x.t()[1].mul_(3)


def through_shape(x):
    x.view(-1)[4:9].sub_(1)


def through_diagonal(x):
    x.diagonal().zero_()


def through_step(x):
    x[:, ::2] = torch.ones(3, 2, device=x.device)


def through_windows(x):
    x.unfold(0, 2, 1)[1].fill_(7)


def through_pieces(x):
    first, second = x.unbind(0)[1], x.split(2, 1)[1]
    first.add_(1)
    second.mul_(second)


def through_strides(x):
    x.as_strided((2, 2), (1, 4), 5).add_(10)


def through_none(x):
    x[:, None, 1:3].squeeze(1).neg_()


def by_index(x):
    x[torch.tensor([0, 2], device=x.device)] = 5
    x[x > 6] = -1


def by_out(x):
    torch.add(x, 1, out=x)


def by_data(x):
    x.data.mul_(2)
    x.detach()[0].add_(1)


WRITES = [through_slice, through_select_of_transpose, through_shape, through_diagonal, through_step, through_windows, through_pieces,
          through_strides, through_none, by_index, by_out, by_data]


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
def test_writes_are_seen_by_all_that_share_the_elements(write):
    def run(x):
        views = [x, x[1], x.t(), x.view(-1), x.t()[:, 1:], x.detach(), x[:, ::2]]
        _ = [v + 1 for v in views]
        write(x)
        return [v.tolist() for v in views], [v._version for v in views]

    x = torch.arange(12.0).view(3, 4)
    assert run(x.clone().to("xla")) == run(x.clone())


@pytest.mark.parametrize("write", [w for w in WRITES if w not in (by_out, by_data, through_windows, through_pieces)], ids=lambda f: f.__name__)
def test_recorded_writes(write):
    def run(leaf):
        base = leaf * 2
        row = base[1]
        write(base)
        ((base * base).sum() + row.sum()).backward()
        return base.tolist(), leaf.grad.tolist(), base.grad_fn.name()

    x = torch.arange(12.0).view(3, 4)
    on_cpu, on_device = x.clone().requires_grad_(), x.clone().to("xla").requires_grad_()
    assert run(on_device) == run(on_cpu)


def test_a_saved_tensor_that_was_written_to_is_noticed():
    x = on_xla(3, requires_grad=True)
    y = x.exp()
    y[0] = 7
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_write_does_not_touch_other_views():
    """Those that nobody reads cost nothing: they are taken from the memory again when they are read."""
    x = on_xla(50, 4)
    rows = [x[i] for i in range(50)]
    rows[7].add_(100)
    assert all(isinstance(row._a, ViewArray) for row in rows)
    stale = [row._a._stamp != row._a.memory.stamp for row in rows]
    assert stale == [i != 7 for i in range(50)]
    assert x[7].tolist() == [128, 129, 130, 131] and rows[8].tolist() == [32, 33, 34, 35]


@pytest.mark.parametrize("view", [lambda x: x[1], lambda x: x[1:, ::2], lambda x: x.t(), lambda x: x.t()[2], lambda x: x.view(-1)[3:]])
def test_slices_selects_and_transposes_write_by_key(view, monkeypatch):
    from flambeau.engines.xla import engine

    def refuse(*args):
        raise AssertionError("the places were looked for")

    monkeypatch.setattr(engine, "put_view", refuse)
    x = on_xla(3, 4)
    view(x).zero_()
    y = torch.arange(12.0).view(3, 4)
    view(y).zero_()
    assert x.tolist() == y.tolist()


# ---- randomness, creation and layers


DRAWS = {
    "rand": (lambda **k: torch.rand(4000, **k), 0.5, 12**-0.5),
    "randn": (lambda **k: torch.randn(4000, **k), 0, 1),
    "randint": (lambda **k: torch.randint(2, 5, (4000,), **k), 3, (2 / 3) ** 0.5),
    "randperm": (lambda **k: torch.randperm(4000, **k), 1999.5, 4000 / 12**0.5),
    "normal": (lambda **k: torch.normal(3, 2, (4000,), **k), 3, 2),
    "uniform_": (lambda **k: torch.zeros(4000, device=k["device"]).uniform_(-1, 3), 1, 4 / 12**0.5),
    "normal_ in half": (lambda **k: torch.zeros(4000, dtype=torch.bfloat16, device=k["device"]).normal_(1, 2), 1, 2),
    "bernoulli_": (lambda **k: torch.zeros(4000, device=k["device"]).bernoulli_(0.2), 0.2, 0.4),
    "exponential_": (lambda **k: torch.zeros(4000, device=k["device"]).exponential_(2), 0.5, 0.5),
    "randn_like": (lambda **k: torch.randn_like(torch.zeros(4000, device=k["device"])), 0, 1),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_on_a_device(name):
    draw, mean, deviation = DRAWS[name]
    torch.manual_seed(3)
    first, second = draw(device="xla"), draw(device="xla")
    torch.manual_seed(3)
    again = draw(device="xla")
    assert first.device.type == "xla" and torch.equal(first, again) and not torch.equal(first, second)
    got = first.cpu().double()
    assert abs(got.mean() - mean) < 5 * deviation / 60 and abs(got.std() / deviation - 1) < 0.1


def test_exponential_numbers_have_logarithms():
    drawn = torch.zeros(4000, dtype=torch.bfloat16, device="xla").exponential_()
    assert drawn.min() > 0 and torch.nn.functional.gumbel_softmax(torch.zeros_like(drawn)).isfinite().all()


def test_a_generator_of_a_device_has_a_state_of_its_own():
    generator = torch.Generator("xla").manual_seed(3)
    assert generator.device == torch.device("xla:0")

    def draws():
        ones = torch.ones(4, device="xla")
        return [torch.rand(2, 3, device="xla", generator=generator), torch.randperm(5, device="xla", generator=generator),
                ones.clone().normal_(generator=generator), ones.multinomial(2, generator=generator)]

    state, of_cpu = generator.get_state(), torch.get_rng_state()
    first, second = draws(), draws()
    assert torch.equal(torch.get_rng_state(), of_cpu)
    assert not torch.equal(first[0], second[0])
    generator.set_state(state)
    for got, want in zip(draws(), first, strict=True):
        assert torch.equal(got, want)
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'xla"):
        torch.rand(2, generator=generator)


def test_devices_have_default_generators():
    def draws(**k):
        return [torch.rand(3, device="xla", **k), torch.randperm(5, device="xla", **k)]

    torch.manual_seed(3)
    of_cpu, of_device = torch.rand(4), draws()
    assert torch.equal(torch.cat(of_device), torch.cat(draws(generator=torch.Generator("xla").manual_seed(3))))
    torch.manual_seed(3)
    torch.nn.functional.dropout(torch.ones(9, device="xla"))
    assert torch.equal(torch.rand(4), of_cpu)  # draws on the device are none of the CPU
    with torch.random.fork_rng(devices=["xla"]):
        inside = draws()
    assert torch.equal(torch.cat(draws()), torch.cat(inside))
    with torch.random.fork_rng(devices=[]):
        inside = draws()
    assert not torch.equal(torch.cat(draws()), torch.cat(inside))
    seed = torch.seed()
    assert torch.equal(draws()[0], draws(generator=torch.Generator("xla").manual_seed(seed))[0])


def test_a_default_generator_that_is_first_needed_in_a_trace(monkeypatch):
    monkeypatch.setattr(torch.random, "_of_devices", {})
    torch.manual_seed(4)
    x = torch.ones(3, device="xla")
    noisy = torch.compile(lambda x, draws: torch.rand_like(x) if draws else x * 2)
    noisy(x, False), noisy(x, False)
    found = noisy(x, True), noisy(x, True)
    torch.manual_seed(4)
    for y in found:
        assert torch.equal(torch.rand_like(x), y)


def test_a_generator_of_the_cpu_gives_its_numbers():
    def draw(device):
        k = {"device": device, "generator": torch.Generator().manual_seed(3)}
        return [torch.rand(2, 3, **k), torch.randperm(5, **k), torch.zeros(3, device=device).uniform_(generator=k["generator"])]

    for a, b in zip(draw("xla"), draw("cpu"), strict=True):
        assert a.device.type == "xla" and a.tolist() == b.tolist()


@pytest.mark.parametrize("draw", [lambda x: x.normal_(0, -1), lambda x: x.uniform_(2, 1), lambda x: x.bernoulli_(2.0),
                                  lambda x: x.exponential_(-1), lambda x: x.long().random_(3, 3)])
def test_draws_by_wrong_values_are_refused(draw):
    with pytest.raises(RuntimeError, match="expects"):
        draw(torch.zeros(2, device="xla"))


def test_a_model_trains_as_on_the_cpu():
    def train(device):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 3), torch.nn.BatchNorm1d(3), torch.nn.Flatten(), torch.nn.Linear(18, 2)).to(device)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        x, target = torch.randn(4, 2, 8).to(device), torch.tensor([0, 1, 1, 0]).to(device)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert all(p.device == x.device == p.grad.device for p in net.parameters())
        return losses

    assert train("xla") == pytest.approx(train("cpu"), rel=5e-3)  # a GPU multiplies matrices of float32 in less


def test_elements_can_be_shared_again_after_sharing_ended():
    x = torch.zeros(3, device="xla")
    for _ in range(2):
        shared = x.detach()
        x += 1
        shared += 1
        assert x.tolist() == shared.tolist()
        del shared
        x += 1
        x += 1
        view = x[1:]
        x *= 2
        view += 1
    assert (x.tolist(), view.tolist()) == ([24.0, 27.0, 27.0], [27.0, 27.0])


# ---- copies and files


def some_that_share(x):
    """A tensor, tensors that share its elements, one that does not, and one in another order."""
    return [x, x.t(), x[1], x.detach(), x.diagonal(), x.view(-1), x.clone(), x.t().clone()]


def saved_and_loaded(tensors):
    file = io.BytesIO()
    torch.save(tensors, file)
    file.seek(0)
    return torch.load(file)


def pickled(tensors):
    return pickle.loads(pickle.dumps(tensors))


@pytest.mark.parametrize("copy", [copy.deepcopy, saved_and_loaded, pickled], ids=lambda f: f.__name__)
def test_copies_share_their_elements_as_the_tensors_do(copy):
    def run(device):
        x = torch.arange(12.0).view(3, 4).clone().to(device)
        x.add_(1)
        tensors = copy(some_that_share(x))
        before = [(t.tolist(), t.stride(), t.storage_offset()) for t in tensors]
        tensors[2].add_(100)
        return before, [t.tolist() for t in tensors], x.tolist()

    assert run("xla") == run("cpu")


@pytest.mark.parametrize("copy", [copy.deepcopy, saved_and_loaded, pickled], ids=lambda f: f.__name__)
def test_copies_of_models_in_channels_last(copy):
    net = torch.nn.Conv2d(3, 2, 3).to("xla", memory_format=torch.channels_last)
    weight = copy(dict(net.state_dict()))["weight"]
    assert (weight.tolist(), weight.stride()) == (net.weight.tolist(), net.weight.stride())


def test_a_file_has_the_elements_of_tied_weights_once(tmp_path):
    embedding, head = torch.nn.Embedding(100, 8).to("xla"), torch.nn.Linear(8, 100, bias=False)
    head.weight = embedding.weight
    torch.save({"a": embedding.state_dict(), "b": head.state_dict()}, tmp_path / "tied.pt")
    assert (tmp_path / "tied.pt").stat().st_size < 2 * 3200
    torch.save([embedding.weight, embedding.weight.clone()], tmp_path / "two.pt")
    first, second = torch.load(tmp_path / "two.pt")
    with torch.no_grad():
        first.zero_()
    assert second.any()


@pytest.mark.parametrize("change", [
    lambda x, y: x.set_(y), lambda x, y: x.set_(y.t()), lambda x, y: x.set_(y, 2, (2, 2), (4, 1)),
    lambda x, y: x.set_(y[1:], 0, (3, 4)), lambda x, y: y.resize_(2, 2), lambda x, y: y.t_().resize_(5),
    lambda x, y: x.set_(y).resize_(0),
])
def test_other_memory_and_other_sizes(change):
    def run(device):
        x, y = torch.ones(3, 4, device=device), torch.arange(12.0, device=device).view(3, 4)
        row = y[0]
        change(x, y)
        for write in (x, y, row):
            write.add_(1)
        return [(t.tolist(), t.stride(), t.storage_offset()) for t in (x, y, row)]

    assert run("xla") == run("cpu")
