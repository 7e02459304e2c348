"""Tuples of tensors that are new at every step, such as the hidden state of an LSTM."""

import types
from typing import NamedTuple

import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


class State(NamedTuple):
    h: torch.Tensor
    c: torch.Tensor


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(2, 3)


class Holder:
    pass


def zeros(device):
    return torch.zeros(1, 3, device=device), torch.ones(1, 3, device=device)


# ---- steps: each is made for a device, and returns (a function of x, what it leaves)


def attribute_of_a_module(cell, start):
    cell.state = start

    def step(x):
        cell.state = tuple([t.detach() for t in cell(x, cell.state)])
        return cell.state[0]

    return step, lambda: cell.state


def attribute_of_an_object(cell, start):
    own = Holder()
    own.state = State(*start)

    def step(x):
        own.state = State(*cell(x, own.state))
        return own.state.c * 2

    return step, lambda: own.state


def item_of_a_dict(cell, start):
    own = {"state": start, "count": 3}

    def step(x):
        own["state"] = cell(x, own["state"])
        return own["state"][1]

    return step, lambda: own["state"]


def item_of_a_list(cell, start):
    own = [None, start]

    def step(x):
        own[1] = cell(x, own[1])
        return own[1][1]

    return step, lambda: own[1]


def closed_over_name(cell, start):
    state = start

    def step(x):
        nonlocal state
        state = cell(x, state)
        return state[0] + 1

    return step, lambda: state


def nested(cell, start):
    own = Holder()
    own.state = (start, "relu", (1, (start[0] + 1,)))

    def step(x):
        first, name, (n, (last,)) = own.state
        new = cell(x, first)
        own.state = (new, name, (n, (last * n + new[0],)))
        return last

    return step, lambda: own.state


def with_a_float(cell, start):
    own = Holder()
    own.state = (*start, 0.5)

    def step(x):
        h, c, factor = own.state
        h, c = cell(x, (h, c * factor))
        own.state = (h, c, factor * 0.5)
        return c

    return step, lambda: own.state


def moved_along(cell, start):
    own = Holder()
    own.state, own.before = start, (start[1], start[0])

    def step(x):
        h, c = own.before
        own.before = own.state
        own.state = cell(x + h.sum() + c.mean(), own.state)
        return h

    return step, lambda: (own.state, own.before)


def read_only(cell, start):
    own = types.SimpleNamespace(state=start)

    def step(x):
        return cell(x, own.state)[0]

    def leave():
        own.state = tuple([t + 1 for t in own.state])  # between the calls
        return own.state

    return step, leave


STEPS = [attribute_of_a_module, attribute_of_an_object, item_of_a_dict, item_of_a_list, closed_over_name, nested,
         with_a_float, moved_along, read_only]


def run(make, device, compiled, calls=5):
    torch.manual_seed(0)
    cell = nn.LSTMCell(2, 3).to(device).requires_grad_(False)
    with torch.no_grad():
        for nr, p in enumerate(cell.parameters()):
            p.copy_(torch.linspace(-1, 1, p.numel()).view(p.shape) * (nr + 1))
    step, leave = make(cell, zeros(device))
    function = torch.compile(step) if compiled else step
    found = []
    for nr in range(calls):
        found += [function(torch.full((1, 2), float(nr), device=device)), leave()]
    return found, getattr(function, "count", None)


def agree(got, want):
    assert type(got) is type(want)
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            agree(a, b)
    elif isinstance(want, torch.Tensor):
        torch.testing.assert_close(got.cpu(), want.cpu())
    else:
        assert got == want


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("make", STEPS, ids=lambda f: f.__name__)
def test_one_program_serves_all_tuples(make, device):
    found, count = run(make, device, True)
    agree(found, run(make, "cpu", False)[0])
    assert count == 1


# ---- tuples that are not alike


CHANGES = {
    "shorter": lambda s: s[:1], "longer": lambda s: (*s, s[0] + 1), "a list": list,
    "other shapes": lambda s: tuple([t[:1] for t in s]), "other dtypes": lambda s: tuple([t.double() for t in s]),
    "a number": lambda s: (s[0], 3), "swapped": lambda s: s[::-1], "twice the same": lambda s: (s[0], s[0]),
    "None": lambda s: None, "with names": lambda s: State(*s), "views": lambda s: (s[0][:], s[0].view(2)),
    "gradients": lambda s: tuple([t.clone().requires_grad_() for t in s]),
}


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("change", CHANGES)
def test_other_tuples_are_not_stale(change, device):
    own = Holder()
    own.state = torch.tensor([1.0, 2.0], device=device), torch.tensor([3.0, 4.0], device=device)

    def step(x):
        kind = type(own.state).__name__
        return kind, 0 if own.state is None else sum([(nr + 1) * x * t for nr, t in enumerate(own.state)])

    compiled = torch.compile(step)
    x = torch.ones(1, device=device)
    for _ in range(3):
        agree(compiled(x), step(x))
    own.state = CHANGES[change](own.state)
    for _ in range(3):
        agree(compiled(x), step(x))


def test_a_tuple_reached_by_two_paths_is_compared_by_identity():
    first, second = Holder(), Holder()
    first.state = second.state = (torch.ones(2), torch.zeros(2))

    @torch.compile
    def step(x):
        return x * first.state[0] + second.state[0]

    x = torch.ones(2)
    assert [step(x).tolist() for _ in range(3)] == [[2, 2]] * 3
    second.state = (torch.full((2,), 5.0), torch.zeros(2))
    assert step(x).tolist() == [6, 6]
    first.state = second.state
    assert step(x).tolist() == [10, 10]


def test_a_tensor_of_a_tuple_that_is_found_elsewhere_is_not_stale():
    own = Holder()
    own.weight = torch.ones(2)
    own.state = (own.weight, torch.zeros(2))

    @torch.compile
    def step(x):
        return x * own.weight + own.state[0]

    x = torch.ones(2)
    assert [step(x).tolist() for _ in range(3)] == [[2, 2]] * 3
    own.state = (torch.full((2,), 5.0), torch.zeros(2))
    assert step(x).tolist() == [6, 6]
    own.weight = torch.full((2,), 2.0)
    assert step(x).tolist() == [7, 7]


def test_a_write_to_a_tuple_element_reaches_the_current_tensor():
    own = Holder()
    own.state = (torch.zeros(2), "name")

    @torch.compile
    def step(x):
        own.state[0].add_(x)

    before = []
    for nr in range(4):
        own.state = (torch.full((2,), float(nr)), "name")
        step(torch.ones(2))
        before.append(own.state[0])
    assert [t.tolist() for t in before] == [[1, 1], [2, 2], [3, 3], [4, 4]] and step.count == 1


def test_tuples_of_numbers_are_compared_by_their_values():
    own = Holder()

    @torch.compile
    def step(x):
        return x.sum(own.dims) if own.keep else x

    own.keep = True
    for _ in range(4):
        own.dims = tuple([0, 1][:2])
        assert step(torch.ones(2, 3)).tolist() == 6
    assert step.count == 1
    own.dims = (0,)
    assert step(torch.ones(2, 3)).tolist() == [2, 2, 2]
