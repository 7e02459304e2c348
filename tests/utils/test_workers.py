"""DataLoader with worker processes: order, seeds, errors, crashes, memory; the programs run on both libraries."""

import gc
import multiprocessing
import os
import pathlib
import random
import signal
import sys
import time
import weakref

import numpy as np
import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau.utils import data
from flambeau.utils.data._utils import pool, segments
from flambeau.utils.data.dataloader import _MultiProcessingDataLoaderIter

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),  # a machine may have one CPU only
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the datasets of these tests are local classes, which only a fork takes along"),
]

programs = Programs("utils_workers.json")


def dataset(t, getitem, length=8):
    """A dataset with `getitem(index)`."""
    return type("Local", (t.utils.data.Dataset,), {"__len__": lambda self: length, "__getitem__": lambda self, i: getitem(i)})()


def iterable(t, make):
    """An iterable dataset with `make(worker info)` as its iterator."""
    return type("Local", (t.utils.data.IterableDataset,), {"__iter__": lambda self: make(t.utils.data.get_worker_info())})()


def same(batch):
    return batch


# ---- the same as PyTorch

SAMPLERS = {
    "shuffled": lambda t: {"batch_size": 3, "shuffle": True},
    "one by one": lambda t: {"batch_size": None, "shuffle": True},
    "with replacement": lambda t: {"batch_size": 6, "sampler": t.utils.data.RandomSampler(range(20), replacement=True)},
    "a generator": lambda t: {"batch_size": 3, "shuffle": True, "generator": t.Generator().manual_seed(11)},
    "weighted": lambda t: {"batch_size": 5, "sampler": t.utils.data.WeightedRandomSampler(range(1, 21), 15), "prefetch_factor": 1},
    "persistent": lambda t: {"batch_size": 3, "shuffle": True, "persistent_workers": True, "prefetch_factor": 4},
}


@programs
def order(t):
    found = {}
    for seed, (name, settings) in enumerate(SAMPLERS.items()):
        t.manual_seed(seed)
        loader = t.utils.data.DataLoader(range(20), num_workers=2, **settings(t))
        epochs = []
        for _ in range(3):
            epoch = iter(loader)
            after_start = t.rand(1).item()
            epochs.append([[b if isinstance(b, int) else b.tolist() for b in epoch], after_start, t.rand(1).item()])
        found[name] = epochs
    return found


@programs
def seeds_of_workers(t):
    def draw(i):
        info = t.utils.data.get_worker_info()
        threads = t.get_num_threads()
        return [i, info.id, info.num_workers, info.seed, t.initial_seed(), random.random(), np.random.rand(), t.rand(1).item(), threads]

    t.manual_seed(3)
    found = [list(t.utils.data.DataLoader(dataset(t, draw, 6), batch_size=2, num_workers=2, collate_fn=same)) for _ in range(2)]
    loader = t.utils.data.DataLoader(dataset(t, draw, 4), num_workers=2, collate_fn=same, persistent_workers=True)
    return [*found, list(loader), list(loader), t.rand(1).item()]


@programs
def iterables(t):
    d = t.utils.data

    def share(info):
        return iter(range(info.id, 7, info.num_workers))

    rows = [
        (share, {"batch_size": 2}), (share, {"batch_size": 2, "drop_last": True}), (lambda info: iter(range(3)), {"batch_size": None}),
        (lambda info: iter(range(5 * (1 - info.id))), {"batch_size": 2, "persistent_workers": True}),
    ]
    found = []
    for make, settings in rows:
        loader = d.DataLoader(iterable(t, make), num_workers=2, **settings)
        found.append([[b if isinstance(b, int) else b.tolist() for b in loader] for _ in range(2)])
    return found


@programs
def kinds_of_batches(t):
    def sample(i):
        return {"x": t.ones(2) * i, "y": (i, float(i)), "name": str(i), "a": np.full(3, i, np.int16), "half": t.ones(1, dtype=t.bfloat16) * i}

    big = dataset(t, lambda i: [t.full((60, 50), float(i)), t.full((50, 60), i).t(), np.full((70, 70), i)])
    sums = [[x.double().sum().item() for x in batch] for batch in t.utils.data.DataLoader(big, batch_size=4, num_workers=2)]
    return [list(t.utils.data.DataLoader(dataset(t, sample), batch_size=4, num_workers=2)), sums]


@programs
def errors(t):
    d = t.utils.data

    def fail(error):
        def getitem(i):
            if i == 1:
                raise error
            return i

        return d.DataLoader(dataset(t, getitem, 4), num_workers=1)

    def message(loader):
        try:
            list(loader)
        except Exception as error:
            text = str(error)
            return [type(error).__name__, text.splitlines()[:2], text.splitlines()[-1]]

    def init(i):
        raise ValueError(f"no {i}")

    loader = fail(KeyError("a"))
    epoch = iter(loader)
    goes_on = [next(epoch).item(), raised(lambda: next(epoch)), next(epoch).item(), next(epoch).item(), raised(lambda: next(epoch))]
    return [[message(fail(error)) for error in (ValueError("bad"), KeyError("a"), UnicodeDecodeError("utf-8", b"", 0, 1, "five arguments"), IndexError())], goes_on,
            list(fail(StopIteration())), message(d.DataLoader(range(4), num_workers=2, worker_init_fn=init)),
            message(d.DataLoader(range(4), num_workers=1, collate_fn=lambda batch: 1 / 0)),
            message(d.DataLoader(iterable(t, lambda info: 1 / 0), num_workers=1))]


@programs
def lengths_that_lie(t):
    liar = iterable(t, lambda info: iter(range(2)))
    type(liar).__len__ = lambda self: 3
    loader = t.utils.data.DataLoader(liar, batch_size=None, num_workers=2)
    return [len(loader), warned(lambda: list(loader)).count("UserWarning")]  # jax, if it is there, warns of forks


test_as_recorded, test_as_torch_does = programs.tests()


# ---- what goes wrong in a worker


def loader_of(getitem, length=8, **settings):
    settings = {"num_workers": 2, "collate_fn": same, **settings}
    return data.DataLoader(dataset(flambeau, getitem, length), **settings)


@pytest.fixture
def short_grace(monkeypatch):
    monkeypatch.setattr(pool, "GRACE", 0.3)


def processes_of(epoch):
    return [worker.process for worker in epoch._workers]


def assert_ended(pids):
    """None of the processes is there any more, not even as a zombie."""
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_error_shows_the_traceback_of_the_worker():
    def broken(i):
        raise ValueError("in the dataset")

    with pytest.raises(ValueError, match=r"Caught ValueError in DataLoader worker process 0\.\nOriginal Traceback") as caught:
        list(loader_of(broken))
    assert "in broken\n" in str(caught.value) and str(caught.value).endswith("ValueError: in the dataset\n")


def test_an_error_whose_type_stays_in_the_worker():
    class Mine(Exception):
        pass

    def broken(i):
        raise Mine("mine")

    with pytest.raises(RuntimeError, match=r"(?s)in DataLoader worker process 0.*Mine: mine"):
        list(loader_of(broken))


def test_a_batch_that_cannot_be_pickled():
    with pytest.raises((AttributeError, TypeError), match="in DataLoader worker process 0"):
        list(loader_of(lambda i: lambda: i))


class Unreadable:
    """Can be pickled, but not unpickled."""

    def __reduce__(self):
        return divmod, (1, 0)


def test_a_batch_that_cannot_be_unpickled():
    epoch = iter(loader_of(lambda i: Unreadable() if i == 1 else i, 4, timeout=20))
    assert next(epoch) == [0]
    with pytest.raises(ZeroDivisionError, match="while a batch from a DataLoader worker was unpickled"):
        next(epoch)
    assert list(epoch) == [[2], [3]]


def test_a_batch_with_history_is_refused():
    weight = flambeau.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(loader_of(lambda i: weight * i))


@pytest.mark.parametrize("number, name", [(signal.SIGKILL, "Killed"), (signal.SIGUSR1, "User defined signal 1"), (signal.SIGTERM, "Terminated")])
def test_a_killed_worker_is_reported_with_its_signal(number, name):
    def killed(i):
        if i == 5:
            os.kill(os.getpid(), number)
        return i

    epoch = iter(loader_of(killed))
    processes = processes_of(epoch)
    pids = [process.pid for process in processes]
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid\(s\) {pids[1]}\) exited unexpectedly.* is killed by signal: {name}"):
        list(epoch)
    assert time.monotonic() - start < 5
    assert_ended(pids)


def test_a_worker_killed_while_it_is_idle():
    epoch = iter(loader_of(lambda i: i, 40))
    assert next(epoch) == [0]
    os.kill(processes_of(epoch)[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="is killed by signal: Killed"):
        list(epoch)


def test_persistent_workers_start_anew_after_one_has_died():
    loader = loader_of(lambda i: os.getpid(), persistent_workers=True)
    first = iter(loader)
    os.kill(processes_of(first)[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="is killed by signal: Killed"):
        list(first)
    assert len(list(loader)) == 8


@pytest.mark.parametrize("leave", [lambda: os._exit(3), lambda: sys.exit(3)], ids=["_exit", "exit"])
def test_a_worker_that_exits_is_reported_with_its_code(leave):
    with pytest.raises(RuntimeError, match="exited unexpectedly with exit code 3"):
        list(loader_of(lambda i: leave()))


def test_a_worker_killed_in_the_middle_of_a_message(monkeypatch):
    """Half of an answer has come: the parent does not wait for the rest."""

    def half(self, number, payload, loans=(), segments=None):
        self.socket.sendall(b"\0" * 7)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("flambeau.utils.data._utils.channel.Channel.send", half)
    with pytest.raises(RuntimeError, match="is killed by signal: Killed"):
        list(loader_of(lambda i: i))


def test_a_slow_worker_is_waited_for():
    def slow(i):
        time.sleep(0.3 * (i == 1))
        return i

    assert list(loader_of(slow, 4, timeout=30)) == [[0], [1], [2], [3]]


def test_a_worker_that_never_returns_times_out(short_grace):
    epoch = iter(loader_of(lambda i: time.sleep(1000), timeout=0.5))
    pids = [process.pid for process in processes_of(epoch)]
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
        next(epoch)
    del epoch
    gc.collect()
    assert time.monotonic() - start < 60
    assert_ended(pids)


def test_a_worker_that_ignores_signals_is_killed(short_grace, monkeypatch):
    monkeypatch.setattr(pool, "LOOK", 0.3)

    def deaf(i):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)

    epoch = iter(loader_of(deaf, timeout=0.5))
    pids = [process.pid for process in processes_of(epoch)]
    with pytest.raises(RuntimeError, match="timed out"):
        next(epoch)
    epoch._shut_down()
    assert_ended(pids)


def test_large_indices_and_large_samples_do_not_deadlock():
    """More bytes in both directions than the sockets hold."""
    lists = [[j] * 100_000 for j in range(12)]
    loader = data.DataLoader(range(12), batch_sampler=lists, num_workers=1, prefetch_factor=8, collate_fn=lambda batch: "x" * 300_000 + str(batch[0]))
    assert [batch[300_000:] for batch in loader] == [str(j) for j in range(12)]


# ---- ends

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="looks into Linux's /proc")


def test_workers_end_with_the_epoch():
    loader = loader_of(lambda i: i)
    epoch = iter(loader)
    pids = [process.pid for process in processes_of(epoch)]
    assert len(list(epoch)) == 8
    assert_ended(pids)


def test_workers_end_when_an_epoch_is_left():
    epoch = iter(loader_of(lambda i: i, 1000))
    pids = [process.pid for process in processes_of(epoch)]
    assert next(epoch) == [0]
    gone = weakref.ref(epoch)
    del epoch
    assert gone() is None
    assert_ended(pids)


def test_persistent_workers_stay_and_end_with_the_loader():
    loader = loader_of(lambda i: os.getpid(), persistent_workers=True)
    first = {pid for batch in loader for pid in batch}
    epoch = iter(loader)
    next(epoch)  # left in the middle
    assert {pid for batch in loader for pid in batch} == first and len(first) == 2
    del loader, epoch
    gc.collect()
    assert_ended(first)


def test_batches_outlive_their_workers():
    batches = list(data.DataLoader(flambeau.arange(100_000.0).reshape(10, 10_000), batch_size=2, num_workers=2))
    assert [batch[1, -1].item() for batch in batches] == [19999.0, 39999.0, 59999.0, 79999.0, 99999.0]
    batches[0].fill_(0)
    assert batches[1][0, 0] == 20000


def is_running(pid):
    """Whether a process runs, be it a child of ours or not; a zombie has no command line."""
    try:
        return bool(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
    except FileNotFoundError:
        return False


@needs_proc
def test_workers_end_with_their_parent():
    """A parent that is killed can tell nobody: the workers hear that the connection is closed."""
    loader = loader_of(lambda i: i, 1000)
    reader, writer = os.pipe()
    parent = os.fork()
    if not parent:
        epoch = iter(loader)
        os.write(writer, " ".join(str(process.pid) for process in processes_of(epoch)).encode())
        next(epoch)
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        pids = [int(pid) for pid in pipe.read().split()]  # ends when the last worker has closed its copy
    os.waitpid(parent, 0)
    assert len(pids) == 2
    deadline = time.monotonic() + 10
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


# ---- memory


def shared_mappings(pid="self"):
    with open(f"/proc/{pid}/maps") as maps:
        return sum("memfd:flambeau" in line for line in maps)


def descriptors(pid="self"):
    return len(os.listdir(f"/proc/{pid}/fd"))


@needs_proc
@pytest.mark.parametrize("size", [1, 20_000], ids=["small", "large"])
def test_many_batches_leak_nothing(size):
    """No descriptor and no mapping is left over, and while it runs there are only as many as are under way."""
    rows = flambeau.zeros(4, size)
    gc.collect()  # what other tests left behind
    before = descriptors(), shared_mappings()
    most = 0
    epoch = iter(data.DataLoader(data.TensorDataset(rows), sampler=[0, 1, 2, 3] * 150, num_workers=4))
    for _ in epoch:
        if epoch._count == 500:
            most = max(max(descriptors(process.pid), shared_mappings(process.pid)) for process in processes_of(epoch))
    assert epoch._count == 600
    assert 0 < most < max(before) + 26  # a forked process has the descriptors of this one
    del epoch, _
    gc.collect()
    assert (descriptors(), shared_mappings()) == before


@needs_proc
def test_batches_that_are_kept_hold_no_descriptors():
    gc.collect()  # what other tests left behind
    before, mapped = descriptors(), shared_mappings()
    batches = list(data.DataLoader(flambeau.zeros(300, 20_000), num_workers=2))
    assert shared_mappings() >= mapped + 300 and descriptors() <= before + 2
    del batches
    gc.collect()
    assert shared_mappings() == mapped


def test_memory_is_not_reused_while_referenced():
    loader = data.DataLoader(flambeau.arange(40.0).reshape(40, 1).expand(40, 9000).contiguous(), num_workers=2)
    views = [batch.numpy()[:, 5:6] for batch in loader]
    assert [view.item() for view in views] == list(range(40))


def test_a_batch_that_the_dataset_keeps_is_not_overwritten():
    kept = {}

    def cached(batch):
        number = int(batch[0][0])
        if number % 4 == 0:
            return kept.setdefault("batch", data.default_collate(batch))
        return data.default_collate(batch)

    rows = flambeau.arange(40.0).reshape(40, 1).expand(40, 9000).contiguous()
    values = [batch[0, 0].item() for batch in data.DataLoader(rows, num_workers=1, collate_fn=cached)]
    assert values == [i if i % 4 else 0 for i in range(40)]


def test_a_segment_is_used_again_when_all_have_released_it():
    mine = segments.Segments()
    first = mine.array(5000)
    loan = mine.lend(first)
    assert (loan.number, loan.size, loan.nbytes) == (0, 8192, 5000)
    assert mine.lend(np.zeros(5000, np.uint8)).number == 1
    mine.release(0)
    assert mine.lend(np.ones(6000, np.uint8)).number == 2
    del first
    assert mine.lend(np.ones(6000, np.uint8)).number == 0


STRIDED = {
    "transposed": lambda x: x.t(), "channels last": lambda x: x.reshape(2, 3, 40, 60).contiguous(memory_format=flambeau.channels_last),
    "every other": lambda x: x[:, ::2], "expanded": lambda x: x[:1].expand(120, 120), "a row": lambda x: x[3], "empty": lambda x: x[:0],
    "of doubles": lambda x: x.double(), "of bfloat16": lambda x: x.bfloat16(), "complex": lambda x: x.to(flambeau.complex64), "a number": lambda x: x[0, 0],
    "a parameter": lambda x: flambeau.nn.Parameter(x), "a leaf": lambda x: x.clone().requires_grad_(),
}


@pytest.mark.parametrize("name", STRIDED)
def test_tensors_of_all_layouts_arrive(name):
    x = STRIDED[name](flambeau.arange(14400.0).reshape(120, 120))
    got, = data.DataLoader([x], batch_size=None, num_workers=1)
    assert type(got) is type(x) and got.dtype == x.dtype and got.requires_grad == x.requires_grad
    assert flambeau.equal(got, x)
    dense = x.stride() if name in ("transposed", "channels last") else flambeau.empty(x.shape).stride()
    assert got.stride() == dense
    got.detach().fill_(1)


# ---- how workers start


class Squares(data.Dataset):
    """At the top of the module: where workers are spawned, they import it."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i] ** 2


@pytest.mark.parametrize("method", ["fork", "spawn", multiprocessing.get_context("spawn")], ids=["fork", "spawn", "context"])
def test_start_methods(method):
    rows = data.TensorDataset(flambeau.arange(20_000.0).reshape(4, 5000))
    loader = data.DataLoader(rows, num_workers=1, multiprocessing_context=method)
    assert [batch[0, 1].item() for batch, in loader] == [1.0, 5001.0, 10001.0, 15001.0]


def test_out_of_order_batches_come_when_they_are_ready():
    def slow(i):
        time.sleep(0.5 * (i == 0))
        return i

    loader = loader_of(slow, 6, in_order=False)
    values = [i for batch in loader for i in batch]
    assert sorted(values) == list(range(6)) and values[0] != 0


def test_out_of_order_iterables_end():
    loader = data.DataLoader(iterable(flambeau, lambda info: iter(range(5 * (1 - info.id)))), num_workers=2, batch_size=None, in_order=False)
    assert sorted(loader) == [0, 1, 2, 3, 4]


def test_information_about_the_worker():
    def info(i):
        found = data.get_worker_info()
        return repr(found), found.id, found.num_workers, type(found.dataset).__name__, raised(lambda: setattr(found, "id", 1))

    (text, *rest), = next(iter(loader_of(info, num_workers=1)))
    assert text.startswith("WorkerInfo(id=0, num_workers=1, seed=") and rest == [0, 1, "Local", "FrozenInstanceError"]
    assert data.get_worker_info() is None


def test_the_iterator_has_pytorchs_class_name():
    epoch = iter(loader_of(lambda i: i))
    assert isinstance(epoch, _MultiProcessingDataLoaderIter) and len(epoch) == 8
