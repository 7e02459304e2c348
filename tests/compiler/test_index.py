"""Reads and writes at index tensors, whose values are only known when the program runs."""

import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


def put_number(x, i):
    x = x.clone()
    x[i] = 7
    x[i, i] = x.sum()
    x[i - 3, 2] *= 2
    return x


def put_rows_and_columns(x, i):
    x = x.clone()
    x[i] = x[0] * 2 + 1
    x[:, i] = torch.ones(3, device=x.device)
    x[i, 1:3] += 5
    x[..., i] -= 1
    x[None, i] = x[i] * 3
    return x


def put_at_several(x, i):
    x = x.clone()
    j = torch.stack([i, i + 1]) % 3
    x[j] = 1.5
    x[j, i] += 2
    x[i, j] = x[j, i]
    x[:, j] = x[:, j] * 2
    x[1:, j[:1]] = 0
    return x


def read(x, i):
    return x[i] * 1, x[:, i] * 1, x[i, i] * 1, x[i, 1:] + 0, x[None, i] + 0, x[..., i.short()] + 0


def write_through_views(x, i):
    x = x.clone()
    row, column = x[i], x[:, i]
    row.zero_()
    row[1] = 4
    column += 2
    x.mul_(2)
    return x, row + 0, column.stride()


def move_the_index(x, i):
    x, i = x.clone(), i.clone()
    row = x[i]
    i.add_(1)
    row.fill_(8)
    x[i % 3] = -1
    return x


def write_outside(x, i):
    x[i] = 5.0
    x[:, i].add_(1)
    x[i, 1:].mul_(2)


def return_views(x, i):
    y = x * 2
    return x[i], y, y[i], y[:, i][1:]


def of_constants(x, i):
    table, mask = torch.arange(12.0, device=x.device).view(3, 4), torch.eye(3, dtype=torch.bool, device=x.device)
    row, rest = table[i], table[1:]
    row.mul_(2)
    table[:, i] = x[:, 0]
    return table, row + 0, rest + 0, mask[i]


def first_gradients(x, i):
    w = torch.ones(4, device=x.device).requires_grad_()
    y = x * w
    z = y.clone()
    z[i] = w * 3
    z[:, i] *= w[:3]
    z[i].mul_(2)
    (z.square().sum() + y[i].sum()).backward()
    return w.grad, z.detach()


def second_gradients(x, i):
    w = x.clone().requires_grad_()
    slope, = torch.autograd.grad((w**3)[i].sum() + (w**3)[:, i].sum(), w, create_graph=True)
    return slope.detach(), *torch.autograd.grad((slope**2)[i].sum(), w)


def mapped(x, i):
    rows = torch.func.vmap(lambda row: row[i] * 2)(x)
    return rows, torch.func.grad(lambda x: x[i].square().sum())(x), *torch.func.jvp(lambda x: x[i] ** 2, (x,), (x,))


FUNCTIONS = [put_number, put_rows_and_columns, put_at_several, read, write_through_views, move_the_index, write_outside,
             return_views, of_constants, first_gradients, second_gradients, mapped]


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_an_index_is_data(function, device):
    compiled = torch.compile(function)
    for nr in range(4):
        x, i = torch.randn(3, 4), torch.tensor(nr % 3)
        own, at = x.to(device, copy=True), i.to(device)
        want, found = function(x, i), compiled(own, at)
        torch.testing.assert_close(found, want, check_device=False)
        torch.testing.assert_close(own, x, check_device=False)
    assert compiled.count == 1


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_a_result_that_shares_the_memory_of_an_argument(device):
    compiled = torch.compile(lambda x, i: x[:, i])
    for nr in range(4):
        x = torch.ones(3, 4, device=device)
        compiled(x, torch.tensor(nr, device=device)).zero_()
        assert x.sum(0).tolist() == [0 if n == nr else 3 for n in range(4)]


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("function", [read, return_views, write_outside], ids=lambda f: f.__name__)
def test_an_index_out_of_bounds(function, device):
    compiled = torch.compile(function)
    for nr in range(3):
        compiled(torch.ones(3, 4, device=device), torch.tensor(nr, device=device))
    x = torch.ones(3, 4, device=device)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        print(compiled(x, torch.tensor(3, device=device)), x)
    if device == "cpu":
        assert x.tolist() == torch.ones(3, 4).tolist()


class Queue(nn.Module):
    """The last four rows, and where the next one goes."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.arange(12.0).view(4, 3))
        self.register_buffer("rows", torch.zeros(4, 3))
        self.register_buffer("place", torch.tensor(0))

    def forward(self, x):
        self.rows[self.place] = x
        y = self.rows * self.scale[self.place]
        self.place.add_(1).remainder_(4)
        return y


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_a_queue_among_the_buffers_of_a_module(device):
    plain, compiled = Queue(), Queue().to(device)
    compiled.compile()
    for x in torch.randn(6, 3):
        for m in (plain, compiled):
            m.zero_grad()
            m(x.to(m.rows.device)).sum().backward()
        want, found = [[m.rows, m.place, m.scale.grad] for m in (plain, compiled)]
        torch.testing.assert_close(found, want, check_device=False)


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_an_index_that_every_step_of_a_loop_moves(device):
    rows, place = torch.zeros(4, 3, device=device), torch.tensor(0, device=device)

    @torch.compile
    def step(x):
        rows[place] = x
        place.add_(1).remainder_(4)
        return rows.sum(0)

    batches = torch.arange(18.0, device=device).view(6, 3)
    for _ in range(3):
        sums = step.loop(batches)
    assert place.item() == 2 and rows[:, 0].tolist() == [12, 15, 6, 9]
    assert sums[-1].tolist() == rows.sum(0).tolist()


@pytest.mark.parametrize("function", [lambda x, i: x[:, i:i + 1], lambda x, i: x[i].as_strided((1,), (1,))],
                         ids=["slice", "offset"])
def test_what_needs_the_index_itself_is_refused(function):
    compiled = torch.compile(function)
    compiled(torch.ones(3, 4), torch.tensor(1))
    with pytest.raises(RuntimeError, match="needs the elements of a tensor"):
        compiled(torch.ones(3, 4), torch.tensor(1))
