"""Outside tensors: what a program may do with them, which changes are detected, and what is refused."""

import copy

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


class Training:
    """A training step, and what can be seen of it."""

    def __init__(self, tied=False):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
        if tied:
            self.model[2].weight = self.model[0].weight
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def seen(self):
        return [*self.model.state_dict().values(), *[p.grad for p in self.model.parameters()]]


def hook_on_parameter(w):
    w.model[0].weight.register_hook(lambda g: g * 0)


def hook_after_accumulation(w):
    def halve(p):
        p.grad.mul_(0.5)

    w.model[0].weight.register_post_accumulate_grad_hook(halve)


def hook_on_step(w):
    w.optimizer.register_step_pre_hook(lambda o, a, k: [p.grad.mul_(0) for p in w.model.parameters()] and None)


def untie(w):
    w.model[2].weight = nn.Parameter(torch.full((4, 4), 0.3))


def tie(w):
    w.model[2].weight = w.model[0].weight


def new_parameter_and_optimizer(w):
    w.model[0].weight = nn.Parameter(torch.ones(4, 4))
    w.optimizer = torch.optim.SGD(w.model.parameters(), lr=0.1, momentum=0.9)


def one_gradient_for_two(w):
    w.model[0].weight.grad = w.model[2].weight.grad = torch.ones(4, 4)


def write_optimizer_state(w):
    w.optimizer.state[w.model[0].weight]["momentum_buffer"].fill_(0.5)


def exchange_optimizer_state(w):
    w.optimizer.state[w.model[2].bias]["momentum_buffer"] = torch.ones(4)


def load_optimizer_state(w):
    state = copy.deepcopy(w.optimizer.state_dict())
    w.step(torch.ones(2, 4))
    w.optimizer.load_state_dict(state)


def clear_optimizer_state(w):
    w.optimizer.state.clear()


def other_optimizer(w):
    w.optimizer = torch.optim.AdamW(w.model.parameters(), lr=0.1, amsgrad=True)


def add_param_group(w):
    w.model.append(nn.Linear(4, 4))
    with torch.no_grad():
        w.model[3].weight.fill_(0.2)
        w.model[3].bias.zero_()
    w.optimizer.add_param_group({"params": w.model[3].parameters(), "lr": 0.01})


def delete_parameter(w):
    w.optimizer.state.pop(w.optimizer.param_groups[0]["params"].pop(1))


def freeze(w):
    w.model[0].requires_grad_(False)


def exchange_data(w):
    first, second = w.model[0].weight.data, w.model[2].weight.data
    w.model[0].weight.data, w.model[2].weight.data = second, first


def swap_layers(w):
    w.model[0], w.model[2] = w.model[2], w.model[0]


def copy_all(w):
    w.model, w.optimizer = copy.deepcopy((w.model, w.optimizer))


CHANGES = [
    hook_on_parameter, hook_after_accumulation, hook_on_step, untie, tie, new_parameter_and_optimizer,
    one_gradient_for_two, write_optimizer_state, exchange_optimizer_state, load_optimizer_state, clear_optimizer_state,
    other_optimizer, add_param_group, delete_parameter, freeze, exchange_data, swap_layers, copy_all,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_changes_between_training_steps_are_noticed(change):
    plain, other = Training(change is untie), Training(change is untie)
    step = torch.compile(other.step)
    for nr in range(6):
        if nr == 3:
            change(plain)
            change(other)
        x = torch.full((2, 4), float(nr))
        torch.testing.assert_close(step(x), plain.step(x))
        torch.testing.assert_close(other.seen(), plain.seen())


def alternating(function, *cases):
    """`cases` make arguments; a program that was made for the first must not be used wrongly for the others."""
    compiled = torch.compile(function)
    for make in (cases[0], cases[0], cases[0], *cases[1:], *cases):
        want, got = make(), make()
        try:
            expected = function(*want)
        except RuntimeError as error:
            with pytest.raises(RuntimeError, match=str(error)[:20]):
                compiled(*got)
        else:
            result = compiled(*got)
            assert str(result) == str(expected) and str(got) == str(want)
    return compiled


def write_and_read(a, b):
    a.add_(1)
    return b * 2


def over_one_memory():
    memory = np.ones(3, np.float32)
    return torch.from_numpy(memory), torch.from_numpy(memory)


def as_data():
    a = torch.ones(3)
    return a, a.data


def the_same():
    a = torch.ones(3)
    return a, a


@pytest.mark.parametrize("shared", [over_one_memory, as_data], ids=lambda f: f.__name__)
def test_arguments_that_later_share_memory_are_detected(shared):
    g = torch.compile(write_and_read)
    for _ in range(3):
        assert g(torch.ones(3), torch.ones(3)).tolist() == [2, 2, 2]
    a, b = shared()
    with pytest.raises(RuntimeError, match="whose memory it also reaches as another tensor"):
        g(a, b)
    assert a.tolist() == [1, 1, 1]


def in_rows():
    return (torch.arange(9.0).view(3, 3),)


def in_columns():
    return (torch.arange(9.0).view(3, 3).t(),)


def expanded():
    return (torch.ones(3).expand(3, 3),)


def add_rows(x):
    x.add_(torch.arange(3.0)[:, None])
    return x.sum()


@pytest.mark.parametrize("function", [
    lambda x: (x.stride(), x.is_contiguous()), lambda x: x.view(9) * 2, lambda x: x * torch.arange(3.0), add_rows,
], ids=["strides", "view", "read", "write"])
def test_strides_of_an_argument_are_guarded(function):
    alternating(function, in_rows, in_columns, expanded)


def test_an_argument_that_is_the_same_as_another_tensor():
    weight, other = torch.ones(3), torch.full((3,), 5.0)
    alternating(write_and_read, lambda: (torch.ones(3), torch.zeros(3)), the_same)
    alternating(lambda w: w * weight, lambda: (weight,), lambda: (other,))
    alternating(lambda w: w * weight, lambda: (other,), lambda: (weight,))


def test_flags_of_tensors_that_are_not_read_count():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2)
    g = torch.compile(lambda x: x * sum(t.requires_grad for t in (a, b)))
    for flag in (False, False, False, True, True):
        b.requires_grad_(flag)
        assert g(torch.ones(1)).item() == 1 + flag


def test_leaves_and_others_are_told_apart():
    w = torch.ones(2, requires_grad=True)
    g = torch.compile(lambda x: x * (2 if x.is_leaf else 3))
    for _ in range(3):
        assert g(torch.ones(2, requires_grad=True)).tolist() == [2, 2]
        assert g(w * 1).tolist() == [3, 3]


# ---- results


def test_results_share_memory_as_they_do_otherwise():
    w = torch.ones(2, requires_grad=True)

    def f(x):
        z = x * w
        return z, z[0], z.detach(), z.t()

    g = torch.compile(f)
    for _ in range(3):
        z, row, plain, turned = g(torch.ones(2, 2))
        assert row._base is z and turned.stride() == (1, 2)
        (row.sum() + z.sum() + turned.sum()).backward()
        assert w.grad.tolist() == [5, 5]
        plain[0] = 7
        assert row.tolist() == [7, 7] and turned.tolist() == [[7, 1], [7, 1]]
        w.grad = None


def turned(x):
    v = x.t()
    x.zero_()
    return v


def flat(x):
    v = x.view(-1)[1:]
    x[0] = 5
    return v, x


def windows(x):
    v = x.as_strided((2, 3), (1, 2))
    x += 1
    return v


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("function", [turned, flat, windows], ids=lambda f: f.__name__)
def test_views_taken_before_a_write_may_be_returned(function, device):
    def run(function):
        x = torch.arange(24.0).view(6, 4).to(device)
        for part in (x, x, x[2:], x[2:]):
            results = function(part)
        seen = [x, *(results if isinstance(results, tuple) else [results])]
        before = [(t.tolist(), t.stride(), t.storage_offset()) for t in seen]
        seen[1].fill_(7)
        return before, [t.tolist() for t in seen]

    assert run(torch.compile(function)) == run(function)


def test_offsets_in_memory_are_those_of_whole_tensors():
    def second_row(x):
        return x.as_strided((4,), (1,), 4).clone()

    x, compiled = torch.arange(24.0).view(6, 4), torch.compile(second_row)
    for _ in range(3):
        assert compiled(x[:2]).tolist() == [4.0, 5.0, 6.0, 7.0]
    with pytest.raises(RuntimeError, match="that is a part of another one"):
        compiled(x[2:4])


def test_results_have_the_strides_of_eager_ones():
    alternating(lambda x: [y.stride() for y in (x * 2, x.t() + 1, x.t() @ x, x.sum(0))], in_rows, in_columns)
    g = torch.compile(lambda x: x.t() * 2)
    assert [g(torch.ones(2, 3)).stride() for _ in range(3)] == [(1, 3)] * 3


@pytest.mark.parametrize("draw", [
    lambda x: x.normal_(), lambda x: x.t().uniform_(), lambda x: torch.rand_like(x), lambda x: torch.rand_like(x * 2),
    lambda x: nn.functional.dropout(x.t() * 2), lambda x: (x.t() + 1).bernoulli_(0.5),
], ids=["argument", "view", "like argument", "like result", "dropout", "result"])
@pytest.mark.parametrize("make", [in_rows, in_columns])
def test_random_numbers_are_drawn_in_memory_order(draw, make):
    g = torch.compile(draw)
    for seed in range(3):
        torch.manual_seed(seed)
        want = draw(*make())
        torch.manual_seed(seed)
        torch.testing.assert_close(g(*make()), want)


def test_new_memory_for_a_tensor_from_outside():
    weight = torch.ones(3)

    def f(x):
        weight.data = weight.data * 2
        return weight + x

    g = torch.compile(f)
    for nr in range(1, 5):
        before = weight.view(3)
        assert g(torch.zeros(3)).tolist() == weight.tolist() == [2**nr] * 3
        assert before.tolist() == [2 ** (nr - 1)] * 3


INPUTS = {  # what happens to the tensor from outside, between calls -> the argument of the next call
    "other memory": lambda w: (setattr(w, "data", torch.full((4,), 3.0)), torch.ones(4))[1],
    "other dtype": lambda w: (setattr(w, "data", torch.ones(4, dtype=torch.float64)), torch.ones(4))[1],
    "other shape": lambda w: (w.resize_(2, 2), torch.ones(2))[1],
    "requires_grad": lambda w: (w.requires_grad_(), torch.ones(4))[1],
    "argument of its dtype and shape": lambda w: torch.full((4,), 5.0),
    "argument of another dtype": lambda w: torch.ones(4, dtype=torch.float64),
    "argument of another shape": lambda w: torch.ones(1),
}


@pytest.mark.parametrize("change", INPUTS.values(), ids=INPUTS.keys())
def test_tensors_that_were_identical_in_earlier_calls(change):
    def world():
        w = torch.arange(4.0)

        def f(x):
            with torch.no_grad():
                w.mul_(2)
            return x * w + x

        return w, f

    (w, plain), (other, f) = world(), world()
    compiled = torch.compile(f)
    for nr in range(6):
        x, y = (change(w), change(other)) if nr == 4 else (torch.ones(w.shape[-1:]), torch.ones(w.shape[-1:]))
        want, got = plain(x), compiled(y)
        torch.testing.assert_close((got, other.detach(), y), (want, w.detach(), x))
        assert got.requires_grad == want.requires_grad and got.shape == want.shape


# ---- what is refused


def set_seed(x):
    torch.manual_seed(7)
    return torch.rand(3)


def fork(x):
    with torch.random.fork_rng():
        return torch.rand(3)


def make_generator(x):
    return torch.rand(3, generator=torch.Generator())


def hook(x):
    x.register_hook(lambda g: g * 10)


def retain(x):
    (x * 1).retain_grad()
    x.retain_grad()


def switch_off(x):
    torch.set_grad_enabled(False)


def other_default(x):
    torch.set_default_dtype(torch.float64)


def other_default_device(x):
    torch.set_default_device("meta")


def caught_item(x):
    try:
        return x.sum().item()
    except RuntimeError:
        return x * 2


def caught_unique(x):
    try:
        return x.unique()
    except Exception:
        return x * 2


def outer_backward(x):
    x.sum().backward()


def outer_graph(x):
    return x.grad_fn.next_functions


@pytest.mark.parametrize(("function", "message"), [
    (set_seed, "a generator is made, seeded"), (fork, "a generator is made, seeded"),
    (make_generator, "a generator is made, seeded"), (hook, "adds or removes hooks"), (retain, "adds or removes hooks"),
    (switch_off, "changes the grad mode"), (other_default, "changes the default dtype"),
    (other_default_device, "changes the default device"),
    (caught_item, "needs the elements of a tensor"), (caught_unique, "needs the elements of a tensor"),
    (outer_backward, "needs gradients through a tensor from outside"),
    (outer_graph, "needs gradients through a tensor from outside"),
], ids=lambda f: getattr(f, "__name__", ""))
def test_what_is_refused_leaves_everything_as_it_was(function, message):
    w = torch.ones(2, requires_grad=True)
    g = torch.compile(function)
    try:
        g(w * 2)
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    w.grad, state = None, torch.get_rng_state()
    x = w * 2
    node = x.grad_fn
    with pytest.raises(RuntimeError, match=message):
        g(x)
    assert x.grad_fn is node and not x.retains_grad and torch.is_grad_enabled() and w.grad is None
    assert torch.get_default_dtype() is torch.float32 and torch.get_rng_state().equal(state)
    x.sum().backward()
    assert w.grad.tolist() == [2, 2]


def widen(x):
    x.data = x.data.double()


def turn_in_place(x):
    x.t_()


def unsqueeze_in_place(x):
    x.unsqueeze_(0)


@pytest.mark.parametrize(("function", "allowed"), [(turn_in_place, False), (unsqueeze_in_place, False), (widen, True)],
                         ids=["t_", "unsqueeze_", "dtype"])
def test_another_shape_for_a_tensor_from_outside(function, allowed):
    g = torch.compile(function)
    g(torch.ones(2, 3))
    x, want = torch.ones(2, 3), torch.ones(2, 3)
    if allowed:
        g(x)
        function(want)
    else:
        with pytest.raises(RuntimeError, match="another shape, dtype or memory"):
            g(x)
    assert x.shape == want.shape and x.dtype is want.dtype


def test_writes_to_two_parts_of_one_memory_are_both_counted():
    base = torch.zeros(4)
    first, last = base[:2], base[2:]

    @torch.compile
    def step():
        first.add_(1)
        last.add_(2)

    for _ in range(4):
        step()
    assert base.tolist() == [4, 4, 8, 8]
    assert base._version == 8
