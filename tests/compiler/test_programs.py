"""When a program is reused, when a new one is compiled, and what cannot be compiled."""

import collections
import contextlib
import copy
import gc
import logging
import pickle
import queue
import subprocess
import sys
import threading
import tomllib
import types
import weakref
from pathlib import Path

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.compiler._compiled import Compiled

pytestmark = pytest.mark.jax

SCALE = 2.0
FACTORS = [2.0, 3.0]


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


def reasons(caplog):
    return [r.getMessage().partition(" because ")[2] for r in caplog.records if r.name == "flambeau.compiler"]


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger="flambeau.compiler")
    return lambda: reasons(caplog)


def test_the_first_call_is_eager_and_the_second_compiled(log, capsys):
    def f(x):
        print(torch.compiler.is_compiling())
        return x * 2

    g = torch.compile(f)
    for _ in range(5):
        assert g(torch.ones(2)).tolist() == [2, 2]
    assert capsys.readouterr().out == "False\nTrue\n" and len(log()) == 1


def test_every_kind_of_arguments_has_its_program(log):
    g = torch.compile(lambda x, n=1, *, flag=False: x * n + flag)
    for _ in range(3):
        assert g(torch.ones(2)).tolist() == [1, 1]
        assert g(torch.ones(3)).tolist() == [1, 1, 1]
        assert g(torch.ones(2), 2).tolist() == [2, 2]
        assert g(torch.ones(2), 1.0).dtype is torch.float32
        assert g(torch.ones(2, dtype=torch.int64), 1.5).tolist() == [1.5, 1.5]
        assert g(torch.ones(2), flag=True).tolist() == [2, 2]
    assert len(log()) == 6


class Scaled(nn.Module):
    kind = "plain"

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.scale = 3
        self.steps = [1, 2]
        self.inner = nn.Identity()
        self.bias = None

    def forward(self, x):
        y = self.inner(x * self.weight * self.scale * sum(self.steps))
        return y if self.bias is None else y + self.bias


def change_attribute(m):
    m.scale = 4


def change_dict(m):
    m.__dict__["scale"] = 5


def change_list(m):
    m.steps.append(3)


def change_child(m):
    m.inner = nn.Tanh()


def change_child_in_table(m):
    m._modules["inner"] = nn.Tanh()


def add_hook(m):
    m.inner.register_forward_hook(lambda m, i, o: o * 7)


def add_and_remove_global_hook(m):
    nn.modules.module.register_module_forward_hook(lambda m, i, o: None).remove()


def replace_parameter(m):
    m.weight = nn.Parameter(torch.full((2,), 9.0))


def replace_data(m):
    m.weight.data = torch.full((2,), 5.0)


def other_shape(m):
    m.weight = nn.Parameter(torch.full((1,), 9.0))


def to_double(m):
    m.double()


def freeze(m):
    m.requires_grad_(False)


def give_bias(m):
    m.bias = torch.ones(2)


def write_in_place(m):
    with torch.no_grad():
        m.weight.mul_(3)


def write_to_numpy(m):
    m.weight.detach().numpy()[:] = 8


def load(m):
    m.load_state_dict({"weight": torch.tensor([4.0, 5.0])})


def assign(m):
    m.load_state_dict({"weight": torch.tensor([4.0, 5.0])}, assign=True)


@pytest.mark.parametrize("change", [
    change_attribute, change_dict, change_list, change_child, change_child_in_table, add_hook,
    add_and_remove_global_hook, replace_parameter, replace_data, other_shape, to_double, freeze, give_bias,
    write_in_place, write_to_numpy, load, assign,
], ids=lambda f: f.__name__)
def test_a_change_of_the_module_is_noticed(change):
    module = Scaled()
    module.compile()
    x = torch.tensor([1.0, 2.0])
    for _ in range(3):
        module(x)
    change(module)
    plain = copy.deepcopy(module)
    for _ in range(3):
        got, want = module(x), plain(x)
        assert got.tolist() == pytest.approx(want.tolist()) and got.requires_grad == want.requires_grad and got.dtype == want.dtype


def test_global_names_and_closures_are_noticed(log):
    global SCALE
    factor, weight = 2, torch.ones(2)

    def f(x):
        return x * SCALE * factor * weight * FACTORS[0]

    g = torch.compile(f)
    before = SCALE
    try:
        for value in (2.0, 2.0, 2.0, 5.0, 5.0):
            SCALE = value
            assert g(torch.ones(2)).tolist() == f(torch.ones(2)).tolist()
        factor = 3
        assert g(torch.ones(2)).tolist() == f(torch.ones(2)).tolist()
        FACTORS[0] = 4.0
        assert g(torch.ones(2)).tolist() == f(torch.ones(2)).tolist()
        weight = torch.full((2,), 6.0)
        assert g(torch.ones(2)).tolist() == f(torch.ones(2)).tolist()
    finally:
        SCALE, FACTORS[0] = before, 2.0
    assert log() == ["it is called for the second time", "the closed-over name factor was 2 and is 3"]


@pytest.mark.parametrize("codes", [1, 2], ids=["one code", "equal codes"])
def test_functions_of_the_same_code_have_global_names_of_their_own(codes):
    source = "def f(x):\n    return x * FACTOR\n"
    code = [compile(source, "twins.py", "exec") for _ in range(codes)]
    first, second = types.ModuleType("first"), types.ModuleType("second")
    for module, factor, own in ((first, 2, code[0]), (second, 3, code[-1])):
        module.FACTOR = factor
        exec(own, vars(module))
    both = torch.compile(lambda x: first.f(x) + second.f(x))
    assert [both(torch.ones(())).item() for _ in range(2)] == [5, 5]
    second.FACTOR = 7
    assert both(torch.ones(())).item() == 9
    first.FACTOR = 1
    assert both(torch.ones(())).item() == 8


class Config:
    def __init__(self):
        self.rate = 2.0


class Trainer:
    def __init__(self):
        self.config = Config()
        self.count = 0
        self.last = None

    def step(self, x):
        self.last = x * self.config.rate
        return self.last + 1


def test_plain_objects_are_noticed_and_changed():
    trainer = Trainer()
    step = torch.compile(trainer.step)
    for rate in (2.0, 2.0, 2.0, 4.0, 4.0):
        trainer.config.rate = rate
        assert step(torch.ones(1)).item() == rate + 1
        assert trainer.last.item() == rate


def test_a_counter_makes_it_run_eagerly():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def forward(self, x):
            self.count += 1
            return x * self.count

    module = Counting()
    module.compile(recompile_limit=2)
    for nr in range(1, 4):
        assert module(torch.ones(1)).item() == nr
    with pytest.warns(RuntimeWarning, match="Counting was compiled 2 times, the last time because Counting.count was 2 and is 3"):
        assert module(torch.ones(1)).item() == 4
    assert [module(torch.ones(1)).item() for _ in range(3)] == [5, 6, 7]


# ---- what cannot be compiled


def data_dependent(x):
    return x * 2 if x.sum() > 0 else x


def asks_for_a_number(x):
    return x * x.max().item()


def prints(x):
    return str(x)


def selects(x):
    return x[x > 0]


def draws_by_value(x):
    return torch.bernoulli(x.sigmoid())


@pytest.mark.parametrize("function", [data_dependent, asks_for_a_number, prints, selects, draws_by_value],
                         ids=lambda f: f.__name__)
def test_reading_elements_raises_and_changes_nothing(function):
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            self.count += 1
            self.made = x * 2
            return function(x * self.weight)

    model = nn.Sequential(nn.Identity(), Inner())
    model.compile()
    x = torch.tensor([1.0, -2.0, 3.0])
    model(x)
    made, state = model[1].made, torch.get_rng_state()
    with pytest.raises(RuntimeError, match="not known while") as caught:
        model(x)
    assert any(note.startswith("in Sequential.1 = Inner") for note in caught.value.__notes__)
    where = next(note for note in caught.value.__notes__ if note.startswith("while Sequential was traced"))
    assert f"{__file__}:{function.__code__.co_firstlineno + 1}: return" in where
    assert model[1].made is made and model[1].count.item() == 1 and model[1].weight.tolist() == [1, 1, 1]
    assert torch.get_rng_state().equal(state) and not torch.compiler.is_compiling()
    assert (x * 2).tolist() == [2, -4, 6]


@pytest.mark.parametrize(("function", "error", "message"), [
    (lambda i: torch.arange(3.0)[i], IndexError, "index 7 is out of bounds for dimension 0 with size 3"),
    (lambda i: torch.eye(3).index_select(1, i), IndexError, "index 7 is out of bounds for dimension 1 with size 3"),
    (lambda i: torch.eye(3).gather(0, i[None]), (IndexError, RuntimeError), "index 7 is out of bounds for dimension 0"),
    (lambda i: torch.zeros(3).scatter(0, i, 1.0), (IndexError, RuntimeError), "index 7 is out of bounds for dimension 0"),
    (lambda i: torch.zeros(3).index_add(0, i, torch.ones(2)), IndexError, "index 7 is out of bounds"),
    (lambda i: torch.take(torch.eye(2), i), IndexError, "tried to access index 7 on a tensor of 4"),
    (lambda i: nn.functional.embedding(i, torch.eye(3)), IndexError, "index 7|out of range"),
    (lambda i: nn.functional.cross_entropy(torch.eye(3)[:2], i), IndexError, "Target 7 is out of bounds"),
    (lambda i: nn.functional.binary_cross_entropy(i / 2, torch.ones(2)), RuntimeError, "between 0 and 1"),
    (lambda i: torch.linalg.inv(torch.eye(2) * (i < 5)), torch.linalg.LinAlgError, "singular"),
])
def test_invalid_values_are_reported_when_the_program_runs(function, error, message):
    count = torch.zeros(())

    def f(i):
        count.add_(1)
        return function(i)

    g = torch.compile(f)
    for _ in range(3):
        g(torch.tensor([0, 1]))
    for run in (f, g):
        with pytest.raises(error, match=message):
            run(torch.tensor([1, 7]))
    assert count.item() == 4  # the program did not write anything


def test_an_error_of_the_function_comes_after_what_the_function_did_before():
    table, fail, calls = torch.zeros(3), False, collections.Counter()

    def f(x):
        calls[fail] += 1
        table[0] = x.sum()
        if fail:
            raise ValueError("no")
        return table * 2

    g = torch.compile(f)
    g(torch.ones(2))
    fail = True
    with pytest.raises(ValueError, match="no"):
        g(torch.full((2,), 5.0))
    assert table.tolist() == [10, 0, 0]
    assert calls == {False: 1, True: 1}
    fail = False
    assert g(torch.ones(2)).tolist() == [4, 0, 0]
    assert calls == {False: 2, True: 1}


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_an_error_of_the_function_is_the_one_it_raises_eagerly(kind):
    count = torch.zeros(())

    def f(x):
        count.add_(1)
        raise kind("no")

    g = torch.compile(f)
    for _ in range(20):
        with pytest.raises(kind, match="no") as raised:
            g(torch.ones(2))
        assert raised.value.__context__ is None
    assert count.item() == 20
    assert g.count == 0  # nothing was compiled, and the limit is as far as it was


def test_an_error_that_follows_from_a_refusal_does_not_run_the_function_again():
    count = torch.zeros(())

    def f(x):
        count.add_(1)
        try:
            return x * x.sum().item()
        except RuntimeError as error:
            raise ValueError("no") from error

    g = torch.compile(f)
    g(torch.ones(2))
    with pytest.raises(ValueError, match="no"):
        g(torch.ones(2))
    assert count.item() == 1


def test_escaped_tensors_raise_a_clear_error():
    kept = queue.SimpleQueue()

    def f(x):
        kept.put(x * 2)
        return x

    g = torch.compile(f)
    g(torch.ones(2))
    with pytest.warns(RuntimeWarning, match="the closed-over name kept is a SimpleQueue"):
        g(torch.ones(2))
    assert kept.get().tolist() == [2, 2]
    escaped = kept.get()
    with pytest.raises(RuntimeError, match="left it without being returned"):
        escaped + 1
    with pytest.raises(RuntimeError, match="left it without being returned"):
        repr(escaped)


def test_memory_reached_through_two_tensors_cannot_be_written():
    x = torch.zeros(4)
    y = x[1:]

    def f():
        x.add_(1)
        return y * 2

    g = torch.compile(f)
    g()
    with pytest.raises(RuntimeError, match="whose memory it also reaches as another tensor"):
        g()
    assert x.tolist() == [1, 1, 1, 1]


def test_history_for_outside_tensors_is_refused():
    x, w = torch.zeros(2), torch.ones(2, requires_grad=True)

    def f():
        x.mul_(w)
        return x.sum()

    g = torch.compile(f)
    g()
    x.detach_()
    with pytest.raises(RuntimeError, match=r"puts a tensor from outside, float32\[2\], into the graph"):
        g()
    assert x.grad_fn is None


# ---- backward


def test_backward_runs_once_unless_it_is_retained():
    w = torch.ones(3, requires_grad=True)
    g = torch.compile(lambda x: (x * w).sin())
    g(torch.ones(3))
    y = g(torch.ones(3))
    assert type(y.grad_fn).__name__ == "CompiledFunctionBackward"
    y.sum().backward(retain_graph=True)
    once = w.grad.clone()
    y.sum().backward()
    assert w.grad.tolist() == (2 * once).tolist()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_a_weight_that_changes_before_backward_is_noticed():
    w = torch.ones(3, requires_grad=True)
    g = torch.compile(lambda x: x * w)
    x = torch.ones(3, requires_grad=True)
    g(x)
    y = g(x)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*CompiledFunctionBackward"):
        y.sum().backward()


def test_writes_of_the_program_itself_do_not_invalidate_it():
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(2))

        def forward(self, x):
            y = x * self.scale.clone()
            self.scale.add_(1)
            return y

    model = Running()
    model.compile()
    for nr in range(1, 5):
        x = torch.ones(2, requires_grad=True)
        model(x).sum().backward()
        assert x.grad.tolist() == [nr, nr]


def test_second_derivatives_of_a_program_are_refused_with_the_cure():
    w = torch.ones(2, requires_grad=True)
    g = torch.compile(lambda: (w**3).sum())
    g()
    with pytest.raises(RuntimeError, match="Compile the function that calls grad"):
        torch.autograd.grad(g(), w, create_graph=True)


def test_only_needed_gradients_are_computed():
    g = torch.compile(lambda x, y: (x * 2, y * 3))
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for _ in range(3):
        x.grad = y.grad = None
        g(x, y)[1].sum().backward()
        assert y.grad.tolist() == [3, 3] and (x.grad is None or x.grad.tolist() == [0, 0])


def test_a_spent_graph_stays_spent():
    w = torch.ones(2, requires_grad=True)

    def f():
        w.grad = None
        loss = (w * w).sum()
        loss.backward()
        return loss

    g = torch.compile(f)
    for _ in range(3):
        loss = g()
        assert loss.requires_grad and w.grad.tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="a second time"):
            loss.backward()


def test_graphs_and_programs_are_freed():
    model = nn.Linear(2, 2)
    model.compile()
    x = torch.ones(1, 2, requires_grad=True)
    model(x)
    y = model(x)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


# ---- results


def test_results_have_memory_of_their_own():
    x, w = torch.ones(3), torch.ones(3)

    def f(x):
        return x.clone(), x.clone(), w + 0, torch.zeros(3), x

    g = torch.compile(f)
    for _ in range(3):
        results = g(x)
        for nr, r in enumerate(results[:-1]):
            r.fill_(nr + 5)
        assert results[-1] is x
        assert [r[0].item() for r in results] == [5, 6, 7, 8, 1] and w.tolist() == [1, 1, 1]


def test_views_of_arguments_are_views():
    g = torch.compile(lambda x: (x.t(), x[0], x.detach()))
    for _ in range(3):
        x = torch.ones(2, 3, requires_grad=True)
        turned, row, detached = g(x)
        assert turned._base is x and row.data_ptr() == x.data_ptr() and not detached.requires_grad
        detached.zero_()
        assert row.tolist() == [0, 0, 0] and turned.stride() == (1, 3)
        (turned.sum() + row.sum()).backward()
        assert x.grad.tolist() == [[2, 2, 2], [1, 1, 1]]


def test_threads_see_tensors_as_they_are_while_another_traces():
    seen, stop, w = [], threading.Event(), torch.ones(50)

    def look():
        while not stop.is_set():
            seen.append((w * 2).sum().item())

    def f(x):
        for _ in range(200):
            x = x * w
        return x

    g = torch.compile(f)
    g(torch.ones(50))
    thread = threading.Thread(target=look)
    thread.start()
    try:
        g(torch.ones(50))
    finally:
        stop.set()
        thread.join()
    assert set(seen) == {100.0}


# ---- modules


def test_compile_in_place_keeps_the_module():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    before = repr(model), list(model.state_dict())
    assert model._compiled_call_impl is None
    model.compile()
    assert model._compiled_call_impl is not None
    assert (repr(model), list(model.state_dict())) == before
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.allclose(copied(torch.ones(1, 2)), model(torch.ones(1, 2)))


def test_a_compiled_module_is_a_wrapper():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    wrapped = torch.compile(model)
    assert list(wrapped.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert wrapped._orig_mod is model
    x = torch.ones(1, 2)
    for _ in range(3):
        assert torch.allclose(wrapped(x), model(x))
    assert len(wrapped) == 2
    with pytest.raises(TypeError, match="not subscriptable"):
        wrapped[0]
    wrapped.eval()
    assert not model.training
    wrapped.extra = 5
    assert model.extra == 5 and wrapped.extra == 5


def test_a_compiled_module_inside_of_a_compiled_function(log):
    inner = nn.Linear(2, 2)
    inner.compile()
    g = torch.compile(lambda x: inner(x) * 2)
    for _ in range(3):
        assert torch.allclose(g(torch.ones(2)), inner(torch.ones(2)) * 2)
    assert len(log()) == 2


def test_lazy_modules_settle_in_the_first_call():
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    model.compile()
    shapes = [tuple(model(torch.ones(2, 5)).shape) for _ in range(3)]
    assert shapes == [(2, 3)] * 3 and model[0].in_features == 5


# ---- arguments of compile


class Adder:
    def __init__(self):
        self.w = torch.ones(1)
        self.step = torch.compile(self.add)

    def add(self, x):
        self.w.add_(x)
        return self.w * 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_of_objects_that_hold_compiled_methods(copied):
    first = Adder()
    assert [first.step(torch.ones(1)).item() for _ in range(3)] == [4, 6, 8]
    other = copied(first)
    assert [other.step(torch.ones(1)).item() for _ in range(3)] == [10, 12, 14]
    assert first.w == 4 and first.step(torch.ones(1)) == 10 and other.step.count == 1


def test_as_a_decorator_and_a_method():
    @torch.compile(backend="xla")
    def f(x):
        """Doubles."""
        return x * 2

    class Holder:
        @torch.compile
        def double(self, x):
            return x * 2

    assert f.__name__ == "f" and f.__doc__ == "Doubles."
    for _ in range(3):
        assert f(torch.ones(1)).item() == Holder().double(torch.ones(1)).item() == 2


@pytest.mark.parametrize(("settings", "message"), [
    (dict(backend="nonsense"), "Invalid backend: 'nonsense'"),
    (dict(backend=print), "functions as backends are not supported"),
    (dict(mode="fastest"), "Unrecognized mode='fastest'"),
    (dict(mode="default", options={}), "both can't be specified"),
    (dict(dynamic="pad"), "dynamic must be True, False or None, but got 'pad'.*their own programs"),
    (dict(options={"triton.cudagraphs": True}), "Unexpected optimization option triton.cudagraphs"),
])
def test_wrong_settings(settings, message):
    with pytest.raises(RuntimeError, match=message):
        torch.compile(lambda x: x, **settings)
    with pytest.raises(RuntimeError, match=message):
        nn.Identity().compile(**settings)


def test_what_is_not_compiled_comes_back_as_it_is():
    f = lambda x: x  # noqa: E731
    assert torch.compile(f, disable=True) is f and torch.compile(f, backend="eager") is f
    with pytest.raises(RuntimeError, match="expects a function or a module, but got int"):
        torch.compile(3)


def test_modules_of_a_backend_that_does_not_compile_are_as_compiled_ones():
    """Their state has the same names, also in copies."""
    net = nn.Linear(2, 2)
    assert torch.compile(net, disable=True) is net
    for eager in (torch.compile(net, backend="eager"), copy.deepcopy(torch.compile(net, backend="eager"))):
        assert type(eager) is type(torch.compile(net)) and list(eager.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
        x = torch.ones(1, 2)
        assert [eager(x).equal(net(x)) for _ in range(3)] == [True] * 3 and not isinstance(eager.forward, Compiled)


def test_error_without_jax_names_the_extra():
    code = """
import sys
sys.modules["jax"] = None
import flambeau
try:
    flambeau.nn.Linear(2, 2).compile()
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'flambeau[xla]'" in done.stdout


@pytest.mark.parametrize(("found", "error"), [
    ("0.4.38", pytest.raises(ImportError, match=r"needs jax 0.10 or newer, but found 0.4.38: pip install")),
    ("0.12.0.dev1", pytest.warns(RuntimeWarning, match=r"tested with jax 0.10 to 0.11, and found 0.12.0.dev1")),
    ("0.10.2", contextlib.nullcontext()),
])
def test_the_version_of_jax_is_checked(found, error):
    from flambeau.engines.xla._version import check_version

    with error:
        check_version(found)


def test_the_tested_versions_of_jax_are_those_that_pip_installs():
    from flambeau.engines.xla._version import NEWEST, OLDEST

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    (oldest, newest), after = (".".join(map(str, v)) for v in (OLDEST, NEWEST)), NEWEST[1] + 1
    assert project["project"]["optional-dependencies"]["xla"][0] == f"jax>={oldest},<{newest.split('.')[0]}.{after}"


def test_numpy_arrays_are_told_apart_by_their_elements():
    table = np.ones(2)
    g = torch.compile(lambda x, a: x * torch.from_numpy(a) + torch.from_numpy(table))
    a = np.array([1.0, 2.0])
    for _ in range(3):
        assert g(torch.ones(2), a).tolist() == [2, 3]
    a[0] = 5
    assert g(torch.ones(2), a).tolist() == [6, 3]
    table[:] = 2
    assert g(torch.ones(2), a).tolist() == [7, 4]


def test_subclasses_come_out_as_they_do_otherwise():
    class Marked(torch.Tensor):
        pass

    g = torch.compile(lambda x: x * 2)
    for _ in range(3):
        y = g(torch.ones(2).as_subclass(Marked).requires_grad_())
        assert type(y) is Marked and y.requires_grad and y.tolist() == [2, 2]


def test_inference_mode_and_anomaly_mode():
    w = torch.ones(2, requires_grad=True)
    g = torch.compile(lambda x: x * w)
    for _ in range(3):
        with torch.inference_mode():
            y = g(torch.ones(2))
            assert y.is_inference() and not y.requires_grad
        with torch.autograd.detect_anomaly(check_nan=False):
            assert g(torch.ones(2)).grad_fn.name() == "MulBackward0"


def test_what_is_marked_is_not_compiled():
    @torch.compiler.disable(reason="it writes a file")
    def logs(x):
        return x + 1

    assert torch.compile(logs) is logs
    g = torch.compile(lambda x: logs(x) * 2)
    assert g(torch.ones(1)).item() == 4
    with pytest.raises(RuntimeError, match=r"logs is marked with compiler.disable \(it writes a file\)"):
        g(torch.ones(1))


def test_what_jax_is_built_on_is_not_the_functions():
    """jax names its folders by `etils`, where that is installed. Functions that call it themselves are not compiled."""
    etils, jax = types.ModuleType("etils.epath"), types.ModuleType("jax.cache")
    exec("import pathlib\ndef folder():\n    return pathlib.Path('.')", vars(etils))
    vars(jax)["folder"] = etils.folder
    exec("def find():\n    return folder()", vars(jax))

    def run(x, find):
        find()
        return x * 2

    through_jax, itself = [torch.compile(lambda x, find=find: run(x, find)) for find in (jax.find, etils.folder)]
    assert [through_jax(torch.ones(1)).item() for _ in range(3)] == [2, 2, 2] and through_jax.programs
    itself(torch.ones(1))
    with pytest.warns(RuntimeWarning, match=r"the class pathlib\.Path"):
        itself(torch.ones(1))
