"""Seeds give PyTorch's numbers: the same programs, the same draws, in the same order."""

import copy
import os
import pickle
import subprocess
import sys
import threading

import pytest

import flambeau
from _programs import Programs, differences, raised

programs = Programs("random_programs.json")


@programs
def creation(t):
    t.manual_seed(0)
    return [t.rand(3), t.randn(5), t.randn(40), t.randn(3, 7), t.randint(10, (4,)), t.randint(-5, 5, (2, 3)), t.randperm(12),
            t.rand(2, dtype=t.float64), t.randn(20, dtype=t.float64), t.rand(3, dtype=t.float16),
            t.randn(18, dtype=t.bfloat16), t.randint(0, 2**40, (2,)), t.normal(2.0, 3.0, (4,)), t.rand(2, 0), t.rand(())]


@programs
def likes(t):
    t.manual_seed(1)
    x = t.empty(2, 3)
    return [t.rand_like(x), t.randn_like(x), t.randint_like(x, 9), t.randint_like(x, 3, 9),
            t.rand_like(x, dtype=t.float64), t.rand_like(x.t())]


@programs
def in_place(t):
    t.manual_seed(2)
    make = lambda *s, **k: t.empty(*s, **k)  # noqa: E731
    return [make(3).uniform_(), make(3).uniform_(-2, 5), make(4).normal_(), make(17).normal_(1, 2), make(3).exponential_(),
            make(3).exponential_(0.5), make(3).geometric_(0.3), make(3).cauchy_(), make(3).log_normal_(),
            make(5).bernoulli_(), make(5).bernoulli_(0.2), make(3, dtype=t.int64).random_(), make(3).random_(7),
            make(3, dtype=t.int32).random_(-4, 4), make(5).bernoulli_(t.tensor([0.0, 1.0, 0.5, 0.5, 0.5])),
            make(2, 3).t().uniform_(), make(3, dtype=t.bool).random_()]


@programs
def samplers(t):
    t.manual_seed(3)
    p = t.tensor([0.1, 0.2, 0.3, 0.4])
    return [t.bernoulli(t.full((6,), 0.5)), t.multinomial(p, 3), t.multinomial(p, 6, replacement=True),
            t.multinomial(t.stack((p, p)), 2), t.poisson(t.tensor([0.5, 3.0, 20.0])), t.normal(t.zeros(3), t.ones(3)),
            t.normal(t.zeros(3), 2.0), t.normal(1.0, t.ones(2)), t.binomial(t.full((3,), 10.0), t.full((3,), 0.3))]


@programs
def dropouts(t):
    t.manual_seed(4)
    f, x = t.nn.functional, t.ones(2, 3, 4)
    return [f.dropout(x), f.dropout(x, 0.2), f.dropout(x, 0.9, training=False), f.dropout1d(x), f.dropout2d(t.ones(2, 2, 2, 2)),
            f.alpha_dropout(x, 0.3, training=True), f.feature_alpha_dropout(x, 0.3, training=True), f.dropout(x, 0.0),
            f.dropout(x, 1.0), t.dropout(x, 0.5, True), raised(lambda: f.dropout(x, 1.5)), raised(lambda: t.dropout(x, -1, True))]


@programs
def initialisers(t):
    t.manual_seed(5)
    init, w = t.nn.init, t.empty(3, 4)
    drawn = [init.uniform_(w).clone(), init.normal_(w, 1, 2).clone(), init.trunc_normal_(w).clone(),
             init.trunc_normal_(w, a=-0.5, b=0.5).clone(), init.trunc_normal_(w, 1.0, 2.0, 1.5, 2.0).clone(),
             init.xavier_uniform_(w, 2).clone(), init.xavier_normal_(w).clone(), init.kaiming_uniform_(w, 5**0.5).clone(),
             init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu").clone(), init.eye_(w).clone(),
             init.dirac_(t.empty(4, 2, 3), 2), init.orthogonal_(w).abs(), init.sparse_(w, 0.5).clone(),
             init.constant_(w, 3).clone(), init.ones_(w).clone(), init.zeros_(w).clone()]
    return [*drawn, init.calculate_gain("tanh"), init.calculate_gain("leaky_relu", 0.2),
            raised(lambda: init.calculate_gain("nonsense")), raised(lambda: init.eye_(t.empty(3))),
            raised(lambda: init.xavier_uniform_(t.empty(3))), raised(lambda: init.dirac_(t.empty(3, 2)))]


@programs
def layers(t):
    t.manual_seed(6)
    layer, bilinear = t.nn.Linear(3, 2), t.nn.Bilinear(2, 3, 2)
    return [layer.weight, layer.bias, bilinear.weight, bilinear.bias, t.rand(1)]


@programs
def generators(t):
    g = t.Generator().manual_seed(7)
    h = t.Generator().manual_seed(7)
    first = t.rand(2, generator=g)
    state = g.get_state()
    later = t.randn(3, generator=g)
    g.set_state(state)
    return [first, t.rand(2, generator=h), later, t.randn(3, generator=g), g.initial_seed(), t.Generator().initial_seed(),
            list(state.shape), str(g.device), t.manual_seed(3).initial_seed(), t.initial_seed(), t.manual_seed(-1).initial_seed(),
            t.randperm(4, generator=t.Generator().manual_seed(1)), t.empty(2).normal_(generator=h)]


@programs
def states(t):
    t.manual_seed(8)
    t.randn(3)
    state = t.get_rng_state()
    a = t.randn(5)
    t.set_rng_state(state)
    b = t.randn(5)
    with t.random.fork_rng():
        t.manual_seed(0)
        t.rand(10)
    return [a, b, t.rand(2), int(state.sum())]


@programs
def mistakes(t):
    g = t.Generator()
    x = t.ones(2, requires_grad=True)
    return [raised(lambda: t.randint(5, 5, (2,))), raised(lambda: t.randperm(-1)), raised(lambda: t.rand(-1)),
            raised(lambda: t.multinomial(t.tensor([0.5, 0.5]), 3)), raised(lambda: t.multinomial(t.tensor([-1.0, 2.0]), 1)),
            raised(lambda: t.bernoulli(t.tensor([2.0]))), raised(lambda: t.empty(2).exponential_(-1)),
            raised(lambda: t.empty(2).uniform_(2, 1)), raised(lambda: t.empty(2).normal_(0, -1)),
            raised(lambda: x.uniform_()), raised(lambda: g.set_state(t.zeros(3))), raised(lambda: g.manual_seed("a")),
            raised(lambda: t.set_rng_state(t.zeros(10, dtype=t.uint8))), raised(lambda: t.rand(2, generator=3)),
            raised(lambda: t.empty(2, dtype=t.int64).normal_()), raised(lambda: t.randn(2, dtype=t.int64))]


@programs
def recorded_tensors(t):
    x = t.ones(3, requires_grad=True)
    y = x * 2
    t.manual_seed(9)
    y.uniform_()
    y.sum().backward()
    mean = t.zeros(3, requires_grad=True)
    drawn = t.normal(mean, x)
    drawn.sum().backward()
    return [y.requires_grad, x.grad, t.bernoulli(x * 0.5).requires_grad, drawn, drawn.requires_grad, mean.grad,
            raised(lambda: x.normal_())]


@pytest.mark.parametrize("name", programs.names())
def test_as_recorded(name):
    assert differences(programs.run(name, flambeau), programs.recorded(name)) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", programs.names())
def test_recording_is_what_torch_does(name):
    torch = pytest.importorskip("torch")
    assert differences(programs.run(name, torch), programs.recorded(name)) == []


@pytest.mark.oracle
def test_states_cross_over():
    """A stream that PyTorch began is continued here, and the other way round."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(11)
    torch.randn(3)
    flambeau.set_rng_state(flambeau.tensor(torch.get_rng_state().tolist(), dtype=flambeau.uint8))
    assert flambeau.randn(2).tolist() == pytest.approx(torch.randn(2).tolist())
    torch.set_rng_state(torch.tensor(flambeau.get_rng_state().tolist(), dtype=torch.uint8))
    assert flambeau.rand(5).tolist() == torch.rand(5).tolist()


def test_copies_of_a_generator_go_on_alike():
    g = flambeau.Generator().manual_seed(1)
    flambeau.randn(3, generator=g)
    for twin in (copy.deepcopy(g), pickle.loads(pickle.dumps(g)), g.clone_state()):
        assert flambeau.randn(4, generator=twin).tolist() == flambeau.randn(4, generator=g.clone_state()).tolist()


def test_threads_share_the_default_generator():
    """No draw is given to two threads, and none is lost."""
    flambeau.manual_seed(0)
    want = sorted(flambeau.rand(4000).tolist())
    flambeau.manual_seed(0)
    got = []
    threads = [threading.Thread(target=lambda: [got.extend(flambeau.rand(10).tolist()) for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == want


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_while_another_thread_draws_can_draw():
    program = """
import os, signal, threading, time, warnings
import flambeau as torch
warnings.simplefilter("ignore")  # of threads at a fork, which is the point
draws = threading.Event()

def draw_for_long():
    with torch.default_generator._lock:
        draws.set()
        time.sleep(0.3)

threading.Thread(target=draw_for_long).start()
draws.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)  # ends a child that waits for ever
    torch.rand(3)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
torch.rand(3)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
